import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { asked, greeting, tinyService } from "../tiny.ts";
import { tell } from "./tell.ts";

type Unary = DescMethod & { readonly methodKind: "unary" };

const isUnary = (method: DescMethod): method is Unary => method.methodKind === "unary";
const greet = async (request: Message) => ({ ...greeting({ ...asked, ...request }) });
const routes = (router: ConnectRouter) => {
  for (const method of tinyService().methods.filter(isUnary)) router.rpc(method, greet);
};
const handler = connectNodeAdapter({ routes });
// The adapter leaves the choice of the server to its user: gRPC and browsers behind TLS need HTTP/2.
const server = process.argv[2] === "2" ? createHttp2Server(handler) : createServer(handler);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  void tell(`http://127.0.0.1:${port}`, { [Symbol.asyncDispose]: async () => void server.close() });
});
