import { create, createFileRegistry } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { englishTexts, type GatewayOptions, gateway, jsonResponse, reference, refuseWith } from "../../src/gateway.ts";
import { defaultOptions } from "../../src/services/openapi/defaults.ts";

/** A service whose rpcs have no rule of google.api.http, and one that streams requests. */
function echoService() {
  const proto = create(FileDescriptorProtoSchema, {
    name: "echo.proto",
    package: "echo.v2",
    syntax: "proto3",
    messageType: [{ name: "Text", field: [{ name: "text", number: 1, type: 9, label: 1, jsonName: "text" }] }],
    service: [
      {
        name: "EchoService",
        method: [
          { name: "Echo", inputType: ".echo.v2.Text", outputType: ".echo.v2.Text" },
          { name: "Repeat", inputType: ".echo.v2.Text", outputType: ".echo.v2.Text", serverStreaming: true },
          { name: "Collect", inputType: ".echo.v2.Text", outputType: ".echo.v2.Text", clientStreaming: true },
        ],
      },
    ],
  });
  const service = createFileRegistry(proto, () => undefined).getService("echo.v2.EchoService");
  if (!service) throw new Error("there is no service");
  return service;
}

async function fetched(path: string, options: Partial<GatewayOptions>) {
  await using server = await gateway({
    routes: (router) => void router.service(echoService(), {}),
    ...options,
  }).listen();
  const response = await fetch(server.url + path);
  return { status: response.status, text: await response.text() };
}

test("documents are made for the first request, and once for all", async () => {
  let made = 0;
  const { methods } = gateway({ routes: (router) => void router.service(echoService(), {}) });
  const refuse = refuseWith({ domain: "echo", texts: englishTexts });
  const routes = reference(() => {
    made += 1;
    return defaultOptions({ methods, rest: true, refuse }, {});
  });
  expect(made).toBe(0);
  const request = {
    ...{ method: "GET", path: "/docs", query: "", headers: {}, network: undefined, body: new Uint8Array() },
    ...{ values: createContextValues(), signal: new AbortController().signal },
  };
  const statuses = routes.map(async ({ path, handle }) => (path === "/" ? 200 : (await handle(request)).status));
  expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200, 200, 308, 200]);
  expect(made).toBe(1);
});

const documentOf = async (options: Partial<GatewayOptions>) =>
  JSON.parse((await fetched("/openapi.json", options)).text);

test("an rpc without a path of its own is described at the path that it has in gRPC", async () => {
  const { paths, info, components } = await documentOf({});
  expect(Object.keys(paths)).toEqual(["/echo.v2.EchoService/Echo", "/echo.v2.EchoService/Repeat"]);
  expect(info).toEqual({ title: "EchoService", version: "v2", description: "" });
  expect(Object.keys(components.schemas)).toContain("Text");
  expect(components.securitySchemes).toEqual({});
});

test("what is given wins over what is found", async () => {
  const comments = { "echo.v2.EchoService.Echo": "Answers the same text." };
  const openapi = { title: "Echo", version: "2.1", bearer: "A key of the console.", comments };
  const { info, paths, components } = await documentOf({ openapi });
  expect(info).toMatchObject({ title: "Echo", version: "2.1" });
  const { summary, security } = paths["/echo.v2.EchoService/Echo"].post;
  expect([summary, security]).toEqual(["Answers the same text.", [{ bearer: [] }]]);
  expect(components.securitySchemes.bearer.description).toBe("A key of the console.");
});

test("each rpc has a page, with a path of its own or not", async () => {
  for (const path of ["/docs/EchoService/Echo", "/docs/types/Text", "/docs/errors"])
    expect((await fetched(path, {})).status, path).toBe(200);
  expect((await fetched("/docs/EchoService/Collect", {})).status).toBe(404);
});

test("a route of all paths below one leaves those that have their own", async () => {
  const named = (path: string) => ({
    path,
    handle: (request: { path: string }) => jsonResponse(200, `${path} ${request.path}`),
  });
  const httpRoutes = [named("/files/*"), named("/files/one")];
  for (const [path, answer] of [
    ["/files/one", "/files/one /files/one"],
    ["/files/two", "/files/* /files/two"],
    ["/files/a/b", "/files/* /files/a/b"],
    ["/files/", "/files/* /files/"],
  ] as const)
    expect((await fetched(path, { httpRoutes })).text).toBe(answer);
  for (const path of ["/files", "/filesystem", "//files/one"])
    expect((await fetched(path, { httpRoutes })).status).toBe(404);
});

test("the page of an API without tokens speaks of none", async () => {
  expect((await fetched("/docs", {})).text).not.toContain("TOKEN");
  expect((await fetched("/docs", { openapi: { bearer: "A key of the console." } })).text).toContain("a key of the");
});

test("refusals in the words of somebody else are listed by their reasons", async () => {
  const { components } = await documentOf({ refuse: (reason) => new ConnectError(reason, Code.Internal) });
  expect(components.responses["413"].description).toContain("BODY_TOO_LARGE");
  expect(components.responses).not.toHaveProperty("400");
});

test("the reference can be switched off, and a route of one's own wins over it", async () => {
  expect((await fetched("/openapi.json", { openapi: false })).status).toBe(404);
  const httpRoutes = [{ path: "/openapi.json", handle: () => jsonResponse(200, "{}") }];
  expect((await fetched("/openapi.json", { httpRoutes })).text).toBe("{}");
  const probe = [{ path: "/readyz", handle: () => jsonResponse(503, "{}") }];
  expect((await fetched("/readyz", { httpRoutes: probe })).status).toBe(503);
});
