// Calls sixteen hosts whose name server never answers, and looks for the address of this machine; prints what ended, in that order.

import { createSocket } from "node:dgram";
import { promises } from "node:dns";
import { once } from "node:events";
import { outwardPost } from "../../src/provider/http/fetcher.ts";

const [address = ""] = process.argv.slice(2);
const server = createSocket("udp4");
server.bind(53, address);
await once(server, "listening");

const post = outwardPost({ outgoingPrivateNetworks: ["127.0.0.0/8"], outgoingCaFile: "" });
const ended: string[] = [];
const calls = Array.from({ length: 16 }, (_, n) =>
  post(`https://host${n}.silent.test/`, {}).catch((error) => ended.push(String(error.code))),
);
// They have begun to look.
await new Promise((resolve) => setTimeout(resolve, 500));
const found = promises.lookup("localhost").then(() => ended.push("localhost"));
await Promise.all([...calls, found]);
console.log(ended.join());
process.exit();
