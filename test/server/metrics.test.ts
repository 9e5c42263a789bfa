import { expect, test, vi } from "vitest";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { Health } from "../../packages/gateway/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../packages/gateway/gen/grpc/reflection/v1/reflection_pb.ts";
import { callMetrics } from "../../packages/gateway/src/services/metrics/calls.ts";
import { exposition } from "../../packages/gateway/src/services/metrics/text.ts";
import { grpcClient } from "../../packages/gateway/test/services/grpc_client.ts";
import { freshDatabase } from "../database.ts";
import { holdTable } from "../fixture/held_row.ts";
import { clientOf, startPostern } from "../harness.ts";
import { openProxy } from "../postgres/proxy.ts";

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

const numberOf = (text: string, series: string) =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

const calls = (operation: string, code: string, door = "json") =>
  `postern_calls_total{operation="${operation}",door="${door}",code="${code}"}`;

test("calls are counted by operation, door and code, over the wire", async () => {
  await using postern = await startPostern();
  const me = "/postern.v1.AccountService/GetMe";
  const before = numberOf(await scrape(postern.url), calls(me, "OK"));
  await postern.admin.get("/v1/users/me");
  await postern.as().get("/v1/users/me");
  await postern.as().get("/no/such/path");
  const connect = { "connect-protocol-version": "1", "content-type": "application/json" };
  await clientOf(postern.url, postern.admin.token).call("POST", me, {}, connect);
  const text = await scrape(postern.url);
  expect(numberOf(text, calls(me, "OK"))).toBe(before + 1);
  expect(numberOf(text, calls(me, "OK", "connect"))).toBe(1);
  expect(numberOf(text, calls(me, "UNAUTHENTICATED"))).toBe(1);
  expect(numberOf(text, calls("unknown", "NOT_FOUND"))).toBe(1);
  expect(text).not.toContain("/no/such/path");
  const labels = `{operation="${me}",door="json"`;
  expect(numberOf(text, `postern_call_duration_seconds_count${labels}}`)).toBe(before + 2);
  expect(numberOf(text, `postern_call_duration_seconds_bucket${labels},le="+Inf"}`)).toBe(before + 2);
  expect(numberOf(text, "postern_calls_in_flight")).toBe(0);
});

test("a read by Connect's GET is counted at its door, with the header or without", async () => {
  await using postern = await startPostern();
  const me = "/postern.v1.AccountService/GetMe";
  const before = numberOf(await scrape(postern.url), calls(me, "OK"));
  const get = (headers: Record<string, string>) =>
    postern.admin.get(`${me}?connect=v1&encoding=json&message={}`, headers);
  expect((await get({})).status).toBe(200);
  expect((await get({ "connect-protocol-version": "1" })).status).toBe(200);
  const text = await scrape(postern.url);
  expect([numberOf(text, calls(me, "OK", "connect")), numberOf(text, calls(me, "OK"))]).toEqual([2, before]);
});

test("calls of health and reflection are counted like all others", async () => {
  await using postern = await startPostern();
  using client = grpcClient(postern.url);
  const check = "/grpc.health.v1.Health/Check";
  const info = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  await client.unary(Health.method.check, {});
  await client.unary(Health.method.check, { service: "no.Service" }).catch(() => {});
  await postern.as().post(check, {}, { "connect-protocol-version": "1" });
  await client.converse(ServerReflection.method.serverReflectionInfo, [
    { messageRequest: { case: "listServices", value: "" } },
  ]);
  const watching = client.watch(Health.method.watch, {});
  await watching[Symbol.asyncIterator]().next();
  watching.on("error", () => {}).cancel();
  await vi.waitFor(
    async () => {
      const text = await scrape(postern.url);
      expect(numberOf(text, calls(check, "OK", "grpc"))).toBe(1);
      expect(numberOf(text, calls(check, "NOT_FOUND", "grpc"))).toBe(1);
      expect(numberOf(text, calls(check, "OK", "connect"))).toBe(1);
      expect(numberOf(text, calls(info, "OK", "grpc"))).toBe(1);
      expect(numberOf(text, calls("/grpc.health.v1.Health/Watch", "CANCELED", "grpc"))).toBe(1);
      expect(numberOf(text, "postern_calls_in_flight")).toBe(0);
    },
    { timeout: 60_000 },
  );
});

test("the runtime and the process tell how they are, in text that Prometheus reads", async () => {
  await using postern = await startPostern();
  await expect.poll(async () => numberOf(await scrape(postern.url), "postern_ready")).toBe(1);
  // What a start asks of the database may still be on its way.
  for (const name of ["database_statements_waiting", "password_hashes_waiting", "sms_waiting", "sms_dead"])
    await expect.poll(async () => numberOf(await scrape(postern.url), `postern_${name}`), { message: name }).toBe(0);
  const answer = await fetch(`${postern.url}/metrics`);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await answer.text();
  // Events that others write may be on their way.
  const behind = async () => numberOf(await scrape(postern.url), "postern_log_behind_seconds");
  await expect.poll(behind).toBeLessThan(10);
  expect(numberOf(text, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
  expect(numberOf(text, "nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
  const line =
    /^([a-z_\d]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? (-?[\d.]+(e[+-]?\d+)?|\+Inf)|# (HELP|TYPE) [a-z_\d]+ .+)$/;
  for (const one of text.trimEnd().split("\n")) expect(one).toMatch(line);
  const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  expect(new Set(names).size).toBe(names.length);
  expect((await fetch(`${postern.url}/metrics`, { method: "POST" })).status).toBe(405);
});

test("a table that is locked, and a database that is not heard of, hold up no scrape", async () => {
  await using at = await freshDatabase();
  await using proxy = await openProxy(at.url);
  // No statement ends by itself while the test goes on.
  const settings = { databaseStatementTimeoutMs: 3_600_000, databaseWaitMs: 3_600_000 };
  await using postern = await startPostern({ databaseUrl: proxy.url, ...settings });
  await expect.poll(() => scrape(postern.url)).toMatch(/^postern_mail_waiting 0$/m);
  {
    await using _held = await holdTable(at.url, "mail_messages");
    // A scrape may be as old as a second.
    await expect.poll(() => scrape(postern.url)).not.toContain("postern_mail_waiting");
    const told = async () => {
      const text = await scrape(postern.url);
      return [
        text.includes("postern_mail_waiting"),
        numberOf(text, "postern_ready"),
        numberOf(text, "postern_sms_waiting"),
      ];
    };
    await expect.poll(told).toEqual([false, 1, 0]);
  }
  await expect.poll(() => scrape(postern.url)).toMatch(/^postern_mail_waiting 0$/m);
  proxy.fail({ swallow: true });
  await expect.poll(() => scrape(postern.url)).toMatch(/^postern_ready 0$/m);
  proxy.fail({});
  proxy.reset();
  await expect.poll(() => scrape(postern.url)).toMatch(/^postern_ready 1$/m);
});

test("METRICS=off leaves nothing at the path", async () => {
  await using postern = await startPostern({ metrics: "off" });
  expect((await fetch(`${postern.url}/metrics`)).status).toBe(404);
});

const of = (type: string, more: Record<string, string> = {}) => new Headers({ "content-type": type, ...more });

test.each([
  ["grpc", of("application/grpc+proto")],
  ["grpc_web", of("application/grpc-web-text")],
  ["connect", of("application/proto")],
  ["connect", of("application/connect+json")],
  ["connect", of("application/json", { "connect-protocol-version": "1" })],
  ["json", of("application/json")],
  ["json", new Headers()],
])("the door is %s", (door, headers) => {
  const metrics = callMetrics([UserService], "postern");
  metrics.observe("/postern.v1.UserService/GetUser", headers)("OK", 3);
  expect(exposition(metrics.families())).toContain(`door="${door}"`);
});

test("buckets count what is below, and running calls are seen", () => {
  const metrics = callMetrics([UserService], "postern");
  const ends = [1, 3, 20_000].map((milliseconds) => {
    const end = metrics.observe("/postern.v1.UserService/GetUser", new Headers());
    return () => end("OK", milliseconds);
  });
  expect(numberOf(exposition(metrics.families()), "postern_calls_in_flight")).toBe(3);
  for (const end of ends) end();
  const text = exposition(metrics.families());
  const bucket = (le: string) =>
    numberOf(
      text,
      `postern_call_duration_seconds_bucket{operation="/postern.v1.UserService/GetUser",door="json",le="${le}"}`,
    );
  expect([bucket("0.001"), bucket("0.0025"), bucket("0.005"), bucket("10"), bucket("+Inf")]).toEqual([1, 1, 2, 2, 3]);
});

test("labels are escaped", () => {
  const samples = [{ labels: { name: 'a"b\\c\nd' }, value: 1 }];
  expect(exposition([{ name: "x", help: "X.", type: "gauge", samples }])).toContain('x{name="a\\"b\\\\c\\nd"} 1\n');
});
