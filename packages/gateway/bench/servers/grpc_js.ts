import { fileURLToPath } from "node:url";
import { loadPackageDefinition, Server, ServerCredentials, type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { greeting } from "../tiny.ts";
import { tell } from "./tell.ts";

type Unary = (call: { request: { name: string; count: number } }, answer: (error: null, value: object) => void) => void;

const Greet: Unary = ({ request }, answer) => answer(null, greeting(request));

const Check = (_call: object, answer: (error: null, value: object) => void) => answer(null, { status: "SERVING" });

const definition = loadSync(fileURLToPath(new URL("./tiny.proto", import.meta.url)));
const { bench } = loadPackageDefinition(definition) as unknown as { bench: { Tiny: ServiceClientConstructor } };
const server = new Server();
server.addService(bench.Tiny.service, { Greet });
const healthFile = fileURLToPath(new URL("../../proto/grpc/health/v1/health.proto", import.meta.url));
const { grpc } = loadPackageDefinition(loadSync(healthFile)) as unknown as {
  grpc: { health: { v1: { Health: ServiceClientConstructor } } };
};
server.addService(grpc.health.v1.Health.service, { Check });
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  void tell(`http://127.0.0.1:${port}`, { [Symbol.asyncDispose]: async () => server.forceShutdown() });
});
