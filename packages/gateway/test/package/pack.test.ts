import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Code, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { elizaClient } from "./eliza.ts";
import { compile, installedProject, type Project, type Running, start } from "./project.ts";

let project: Project;
let server: Running;

beforeAll(async () => {
  project = await installedProject();
  server = await start(project.folder, "server.js");
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
});

const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }),
};

describe.each(Object.entries(transports))("Eliza by %s", (_name, transportTo) => {
  test("answers, introduces itself and converses", async () => {
    const eliza = await elizaClient(join(project.folder, "eliza.binpb"));
    const transport = transportTo(server.url);
    expect(await eliza.say(transport, "hi")).toEqual({ sentence: "Why do you say: hi" });
    expect(await eliza.introduce(transport, "Ada")).toEqual([{ sentence: "Hello Ada" }, { sentence: "I am Eliza" }]);
    const talk = await eliza.converse(transport, ["one", "two"]);
    expect(talk).toEqual([{ sentence: "Why do you say: one" }, { sentence: "Why do you say: two" }]);
    await expect(eliza.say(transport, "bye")).rejects.toMatchObject({ code: Code.FailedPrecondition });
  });
});

const post = (path: string, body: object) =>
  fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

test("Eliza answers JSON at the paths of google.api.http", async () => {
  expect(await (await post("/v1/sentences", { sentence: "hi" })).json()).toEqual({ sentence: "Why do you say: hi" });
  const lines = await (await fetch(`${server.url}/v1/introductions/Ada`)).text();
  expect(lines).toBe('{"sentence":"Hello Ada"}\n{"sentence":"I am Eliza"}\n');
  const accept = { accept: "text/event-stream" };
  const events = await (await fetch(`${server.url}/v1/introductions/Ada`, { headers: accept })).text();
  expect(events).toContain('data: {"sentence":"Hello Ada"}');
});

test("a refusal names the field, and has the same code on every door", async () => {
  const unknown = await post("/v1/sentences", { sentense: "hi" });
  expect(unknown.status).toBe(400);
  expect(await unknown.json()).toMatchObject({ code: 3, message: expect.stringContaining("sentense") });
  const over = await post("/v1/sentences", { sentence: "bye" });
  expect(over.status).toBe(400);
  expect(await over.json()).toMatchObject({ code: 9, message: "the conversation is over" });
});

type Health = { check(request: object, answer: (error: Error | null, response: unknown) => void): void; close(): void };

test("health answers grpc-js, and readiness a load balancer", async () => {
  const definition = loadSync(
    fileURLToPath(new URL("../../../../proto/grpc/health/v1/health.proto", import.meta.url)),
    {
      enums: String,
    },
  );
  const { grpc } = loadPackageDefinition(definition) as unknown as {
    grpc: { health: { v1: { Health: ServiceClientConstructor } } };
  };
  const address = new URL(server.url).host;
  const client = new grpc.health.v1.Health(address, credentials.createInsecure()) as unknown as Health;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  client.check({ service: "connectrpc.eliza.v1.ElizaService" }, (error, response) =>
    error ? reject(error) : resolve(response),
  );
  expect(await promise).toEqual({ status: "SERVING" });
  client.close();
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
});

test("OpenAPI describes what is served, without an option", async () => {
  const document = JSON.parse(await (await fetch(`${server.url}/openapi.json`)).text());
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
  expect(document.info).toMatchObject({ title: "ElizaService", version: "v1" });
  // Converse streams requests and has no path of its own: no request of HTTP stands for it.
  expect(Object.keys(document.paths).sort()).toEqual(["/v1/introductions/{name}", "/v1/sentences"]);
  const { responses, requestBody, security } = document.paths["/v1/sentences"].post;
  expect(requestBody.content["application/json"].schema.$ref).toBe("#/components/schemas/SayRequest");
  expect(security).toEqual([]);
  for (const status of Object.keys(responses).filter((one) => one !== "200"))
    expect(document.components.responses, status).toHaveProperty(status);
  const page = await (await fetch(`${server.url}/docs`)).text();
  expect(page).toContain("ElizaService API reference");
  expect(page).toContain(await readFile(new URL("../../src/services/docs/page.css", import.meta.url), "utf8"));
  const script = await (await fetch(`${server.url}/docs/browser.js`)).text();
  expect(script).toBe(await readFile(new URL("../../src/services/docs/browser.js", import.meta.url), "utf8"));
});

test("the archive holds JavaScript with types, and nothing of the source", () => {
  const outside = project.packed.filter((path) => !path.startsWith("package/dist/"));
  expect(outside).toEqual(["package/LICENSE", "package/README.md", "package/package.json"]);
  const suffixes = project.packed.map((path) => /\.(d\.ts|\w+)$/.exec(path)?.[1]);
  expect([...new Set(suffixes)].sort()).toEqual(["css", "d.ts", "js", "json", "md", undefined].sort());
});

test("the manifest leads to JavaScript and types, and pins Connect exactly", async () => {
  const path = join(project.folder, "node_modules", "@postern", "gateway", "package.json");
  const manifest = JSON.parse(await readFile(path, "utf8"));
  expect(manifest.exports["."]).toEqual({ types: "./dist/src/gateway.d.ts", default: "./dist/src/gateway.js" });
  expect(manifest).not.toHaveProperty("publishConfig");
  expect(manifest.dependencies["@connectrpc/connect"]).toMatch(/^\d+\.\d+\.\d+$/);
});

test("the folder of the package is as it was once it was packed", () => {
  expect(project.left.filter((name) => /^(dist|LICENSE|package\.json\..*)$/.test(name))).toEqual([]);
});

// A server as a user writes it in TypeScript.
const typed = `
import { type Gateway, type GatewayOptions, gateway } from "@postern/gateway";
import { ElizaService } from "./gen/connectrpc/eliza/v1/eliza_pb.js";

const options: GatewayOptions = {
  routes(router) {
    router.service(ElizaService, { say: ({ sentence }, { requestHeader }) => ({ sentence: requestHeader.get("x") ?? sentence }) });
  },
};
export const served: Gateway = gateway(options);

// @ts-expect-error a gateway needs routes
gateway({});
`;

test("the types of the package are those that its users need", async () => {
  await writeFile(join(project.folder, "typed.ts"), typed);
  await compile(project.folder, "typed.ts");
});

test("the first server of the README serves", async () => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const [, block = ""] = /```js\n(.*?)```/s.exec(readme) ?? [];
  expect(block.trim().split("\n").length).toBeLessThanOrEqual(10);
  // The port of the README may be taken on this machine.
  await writeFile(join(project.folder, "first.js"), block.replace("8080", "0"));
  await using first = await start(project.folder, "first.js");
  const eliza = await elizaClient(join(project.folder, "eliza.binpb"));
  const transport = createGrpcTransport({ baseUrl: first.url });
  expect(await eliza.say(transport, "hi")).toMatchObject({ sentence: expect.stringContaining("hi") });
});
