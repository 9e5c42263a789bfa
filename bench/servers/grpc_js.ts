import { fileURLToPath } from "node:url";
import { loadPackageDefinition, Server, ServerCredentials, type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { greeting } from "../tiny.ts";
import { tell } from "./tell.ts";

type Unary = (call: { request: { name: string; count: number } }, answer: (error: null, value: object) => void) => void;

const Greet: Unary = ({ request }, answer) => answer(null, greeting(request));

const definition = loadSync(fileURLToPath(new URL("./tiny.proto", import.meta.url)));
const { bench } = loadPackageDefinition(definition) as unknown as { bench: { Tiny: ServiceClientConstructor } };
const server = new Server();
server.addService(bench.Tiny.service, { Greet });
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  void tell(`http://127.0.0.1:${port}`, { [Symbol.asyncDispose]: async () => server.forceShutdown() });
});
