import { expect, test } from "vitest";
import { eventually } from "../first_start.ts";
import { holdTable } from "../fixture/held_row.ts";
import { type Client, clientOf, machine, type Postern, startPostern } from "../harness.ts";
import { openProbe } from "../probe.ts";
import { requestHttp2 } from "../wire/http2.ts";

const documents = ["/metrics", "/openapi.json", "/docs", "/docs/browser.js"];
const probes = ["/healthz", "/readyz"];

/** The status of each path, which may hold HTML. */
async function statusesOf(url: string, paths: readonly string[]): Promise<Record<string, number>> {
  const all = await Promise.all(paths.map(async (path) => [path, (await fetch(url + path)).status] as const));
  return Object.fromEntries(all);
}

const each = (paths: readonly string[], status: number) => Object.fromEntries(paths.map((path) => [path, status]));

/** Whether reflection answers over gRPC. */
async function reflects(url: string): Promise<boolean> {
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const request = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  // One message, which asks for the list of services.
  const { body } = await requestHttp2(url, request, Buffer.from([0, 0, 0, 0, 2, 0x3a, 0]));
  return String(body).includes("postern.v1.UserService");
}

const health = (client: Client) => client.post("/grpc.health.v1.Health/Check", { service: "postern.v1.UserService" });

/** A server with a port for operators. */
async function withOperations(
  settings: Parameters<typeof startPostern>[0] = {},
): Promise<Postern & { operations: string }> {
  const postern = await startPostern({ operationsPort: 0, ...settings });
  return { ...postern, operations: String(postern.operationsUrl) };
}

test("without a setting one port serves everything", async () => {
  await using postern = await startPostern();
  expect(postern.operationsUrl).toBe(undefined);
  expect(await statusesOf(postern.url, [...documents, ...probes])).toEqual(each([...documents, ...probes], 200));
  expect(await reflects(postern.url)).toBe(true);
});

test("every document and probe ends in a newline, so that a shell goes on in a line of its own", async () => {
  await using postern = await startPostern();
  for (const path of [...documents, ...probes])
    expect((await (await fetch(postern.url + path)).text()).at(-1), path).toBe("\n");
});

test("the port for operators has metrics, documents, reflection and health, and no operation", async () => {
  await using postern = await withOperations();
  expect(await statusesOf(postern.operations, [...documents, ...probes])).toEqual(each([...documents, ...probes], 200));
  expect(await reflects(postern.operations)).toBe(true);
  const operators = clientOf(postern.operations, postern.admin.token);
  expect((await health(operators)).body).toEqual({ status: "SERVING" });
  for (const path of ["/v1/users/me", "/v1/organizations"]) expect((await operators.get(path)).status).toBe(404);
  expect((await operators.post("/postern.v1.AccountService/GetMe")).status).toBe(404);
  expect((await operators.post("/v1/sessions", { loginName: "a", password: "b" })).status).toBe(404);
});

test("with `none` the first port has the operations, health and the probes only", async () => {
  await using postern = await withOperations({ portServes: [] });
  expect(await statusesOf(postern.url, documents)).toEqual(each(documents, 404));
  expect(await statusesOf(postern.url, probes)).toEqual(each(probes, 200));
  expect(await reflects(postern.url)).toBe(false);
  expect((await postern.admin.get("/v1/users/me")).status).toBe(200);
  expect((await health(postern.as())).body).toEqual({ status: "SERVING" });
  expect(await statusesOf(postern.operations, documents)).toEqual(each(documents, 200));
});

test.each([["metrics"], ["reflection"], ["docs"]] as const)(
  "the first port serves %s when it is named",
  async (named) => {
    await using postern = await startPostern({ portServes: [named] });
    const docs = named === "docs" ? 200 : 404;
    const expected = {
      "/metrics": named === "metrics" ? 200 : 404,
      "/openapi.json": docs,
      "/docs": docs,
      "/docs/browser.js": docs,
    };
    expect(await statusesOf(postern.url, documents)).toEqual(expected);
    expect(await reflects(postern.url)).toBe(named === "reflection");
  },
);

test("the metrics of the port for operators count the calls of the other one", async () => {
  await using postern = await withOperations({ portServes: [] });
  await (await machine(postern)).client.get("/v1/users/me");
  const text = await (await fetch(`${postern.operations}/metrics`)).text();
  expect(text).toMatch(/postern_[^\n]*AccountService[^\n]*GetMe[^\n]* [1-9]/);
});

test("the page of the reference makes calls only on the port that serves the operations", async () => {
  await using postern = await withOperations();
  const calls = async (url: string) => /data-calls="(\w+)"/.exec(await (await fetch(`${url}/docs`)).text())?.[1];
  expect([await calls(postern.url), await calls(postern.operations)]).toEqual(["here", "elsewhere"]);
});

test("METRICS=off takes them off both ports", async () => {
  await using postern = await withOperations({ metrics: "off" });
  expect(await statusesOf(postern.url, ["/metrics"])).toEqual({ "/metrics": 404 });
  expect(await statusesOf(postern.operations, ["/metrics"])).toEqual({ "/metrics": 404 });
});

test("while a node stops, its port for operators says that it is not ready, and has metrics to the end", async () => {
  const postern = await withOperations({ shutdownGraceMs: 60_000 });
  const held = await holdTable(postern.databaseUrl, "projects");
  const writing = postern.admin.post("/v1/projects", { name: "a project" });
  await using probe = openProbe(postern.databaseUrl);
  await eventually(async () => {
    const waiting = await probe.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.count || undefined;
  }, "a write that waits");
  const stopped = postern[Symbol.asyncDispose]();
  expect(await statusesOf(postern.operations, ["/metrics", "/readyz"])).toEqual({ "/metrics": 200, "/readyz": 503 });
  await held[Symbol.asyncDispose]();
  expect((await writing).status).toBe(200);
  await stopped;
  await expect(fetch(`${postern.operations}/metrics`)).rejects.toThrow();
});
