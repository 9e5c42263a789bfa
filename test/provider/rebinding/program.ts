// Reads documents of clients at names whose name server changes its mind, in a network of its own; prints what came of each reading, and
// how often the servers at the public and the private address were called.

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { documentFetch } from "../../../src/provider/request/client_document.ts";
import { nameServer } from "../../fixture/own_name_server.ts";
import { answerTo, questionIn } from "./address_records.ts";

const [certFile = "", keyFile = "", publicAddress = ""] = process.argv.slice(2);
const privateAddress = "127.0.0.1";

/** What the name server answers, one after the other; the last answer stays. */
const answers: Readonly<Record<string, string[][]>> = {
  "rebind.test": [[publicAddress], [privateAddress]],
  "both.test": [[publicAddress, privateAddress]],
  "private.test": [[privateAddress]],
};

const names = createSocket("udp4");
names.on("message", (query, { address, port }) => {
  const { name, isIpv4 } = questionIn(query);
  const left = answers[name] ?? [];
  const found = isIpv4 ? ((left.length > 1 ? left.shift() : left[0]) ?? []) : [];
  names.send(answerTo(query, found), port, address);
});
names.bind(53, nameServer);
await once(names, "listening");

const called: Record<string, number> = { [publicAddress]: 0, [privateAddress]: 0 };
const port = 8443;
for (const address of [publicAddress, privateAddress]) {
  const options = { cert: await readFile(certFile), key: await readFile(keyFile) };
  const server = createServer(options, (_, response) => {
    response.writeHead(200, { "content-type": "application/json", connection: "close" }).end("{}");
  });
  server.on("connection", () => {
    called[address] = (called[address] ?? 0) + 1;
  });
  await once(server.listen(port, address), "listening");
}

const fetch = documentFetch({ clientDocumentHosts: ["*"], outgoingPrivateNetworks: [], outgoingCaFile: certFile });
const outcomes: string[] = [];
for (const name of ["rebind.test", "rebind.test", "both.test", "private.test"]) {
  const outcome = await fetch(`https://${name}:${port}/client.json`).then(
    ({ text }) => text,
    (error: Error) => error.message,
  );
  outcomes.push(`${name}: ${outcome}`);
}
console.log(JSON.stringify({ outcomes, called }));
process.exit();
