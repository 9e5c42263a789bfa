import { expect, test } from "vitest";
import { holdTable } from "../fixture/held_row.ts";
import { machine, startPostern } from "../harness.ts";
import { frame } from "../wire/frame.ts";
import { fieldsOf } from "../wire/http.ts";
import { connectHttp2 } from "../wire/http2.ts";

const getMe = "/postern.v1.AccountService/GetMe";
const watchEvents = "/postern.v1.EventService/WatchEvents";
const inQuery = "?connect=v1&encoding=json&message=%7B%7D";

test.each([
  ["REST", "GET", "/v1/users/me", {}],
  ["Connect in a query", "GET", `${getMe}${inQuery}`, {}],
  ["gRPC", "POST", getMe, { "content-type": "application/grpc", "grpc-timeout": "200m" }],
  ["a stream of gRPC", "POST", watchEvents, { "content-type": "application/grpc", "grpc-timeout": "200m" }],
  ["a stream of Connect", "POST", watchEvents, { "content-type": "application/connect+json" }],
  ["lines of JSON", "GET", "/v1/events:watch", {}],
])("a deadline ends a call whose caller is still looked up: %s", async (_, method, path, headers) => {
  // No statement ends by itself while the test runs.
  await using postern = await startPostern({ databaseStatementTimeoutMs: 600_000 });
  const robot = await machine(postern);
  await using _locked = await holdTable(postern.databaseUrl, "bearers");
  const authorization = `Bearer ${robot.client.token}`;
  using client = connectHttp2(postern.url);
  const all = { "connect-timeout-ms": "200", authorization, ...headers };
  const body = method === "POST" ? frame("{}") : Buffer.of();
  const response = await client.send({ method, path, headers: all, body });
  const text = JSON.stringify(fieldsOf(response)) + response.body;
  expect(text).toMatch(/DEADLINE_EXCEEDED|"grpc-status":"4"|deadline_exceeded/);
});
