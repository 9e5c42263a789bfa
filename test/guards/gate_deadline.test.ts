import { connect } from "node:http2";
import { describe, expect, test } from "vitest";
import { holdTable } from "../fixture/held_row.ts";
import { machine, startPostern } from "../harness.ts";

const getMe = "/postern.v1.AccountService/GetMe";
const watchEvents = "/postern.v1.EventService/WatchEvents";
const inQuery = "?connect=v1&encoding=json&message=%7B%7D";

describe.each(["on", "off"] as const)("with the lane %s", (lane) => {
  test.each([
    ["REST", "GET", "/v1/users/me", {}],
    ["Connect in a query", "GET", `${getMe}${inQuery}`, {}],
    ["gRPC", "POST", getMe, { "content-type": "application/grpc", "grpc-timeout": "200m" }],
    ["a stream of gRPC", "POST", watchEvents, { "content-type": "application/grpc", "grpc-timeout": "200m" }],
    ["a stream of Connect", "POST", watchEvents, { "content-type": "application/connect+json" }],
    ["lines of JSON", "GET", "/v1/events:watch", {}],
  ])("a deadline ends a call whose caller is still looked up: %s", async (_, method, path, headers) => {
    // No statement ends by itself while the test runs.
    await using postern = await startPostern({ lane, databaseStatementTimeoutMs: 600_000 });
    const robot = await machine(postern);
    await using _locked = await holdTable(postern.databaseUrl, "bearers");
    const authorization = `Bearer ${robot.client.token}`;
    const session = connect(postern.url).on("error", () => {});
    const stream = session.request(
      { ":method": method, ":path": path, "connect-timeout-ms": "200", authorization, ...headers },
      { endStream: method === "GET" },
    );
    if (method === "POST") stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, 2), Buffer.from("{}")]));
    let text = "";
    stream.on("response", (fields) => {
      text += JSON.stringify(fields);
    });
    for await (const part of stream) text += part;
    session.destroy();
    expect(text).toMatch(/DEADLINE_EXCEEDED|"grpc-status":"4"|deadline_exceeded/);
  });
});
