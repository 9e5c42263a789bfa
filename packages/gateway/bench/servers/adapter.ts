import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { tell } from "./tell.ts";
import { tinyRoutes } from "./tiny_routes.ts";

const handler = connectNodeAdapter({ routes: tinyRoutes });
// The adapter leaves the choice of the server to its user: gRPC and browsers behind TLS need HTTP/2.
const server = process.argv[2] === "2" ? createHttp2Server(handler) : createServer(handler);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  void tell(`http://127.0.0.1:${port}`, { [Symbol.asyncDispose]: async () => void server.close() });
});
