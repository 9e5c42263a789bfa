import { Duplex } from "node:stream";
import { expect, test, vi } from "vitest";
import { type ConnectionLimits, openConnections } from "../../src/http/connections.ts";
import { hello, request } from "../http/http2/peer.ts";

const limits: ConnectionLimits = {
  ...{
    streamsMax: 100,
    headersMaxBytes: 4096,
    messageMaxBytes: 100_000,
    connectionAgeMs: 0,
    bodiesMaxBytes: 67_108_864,
    unknownStreamsMax: 100_000,
  },
  ...{ headerTimeoutMs: 60_000, bodyTimeoutMs: 60_000, idleTimeoutMs: 60_000 },
};
const body = "x".repeat(20_000);

test.each([
  ["1.1", Buffer.from("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")],
  ["2", Buffer.concat([hello, request(1, 5)])],
] as const)(
  "HTTP/%s: the last answer of a connection is not cut off, however slowly it is taken",
  async (version, sent) => {
    // The process is older than anything that a connection may wait for.
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 3_600_000);
    let received = "";
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, taken) {
        received += chunk.toString("latin1");
        setTimeout(taken, 1500);
      },
    });
    const closed = new Promise((resolve) => socket.on("close", resolve));
    const served = Promise.withResolvers<void>();
    const sessions = openConnections({
      limits,
      serve(exchange) {
        exchange.answer({ status: 200, headers: {}, body });
        served.resolve();
      },
    });
    sessions.accept(socket, version);
    socket.push(sent);
    await served.promise;
    sessions.close("all");
    if (version === "2") socket.push(Buffer.from([0, 0, 8, 6, 1, 0, 0, 0, 0, ...Buffer.from("farewell")]));
    await closed;
    expect(received.split("x").length - 1).toBe(body.length);
    expect(socket.writableFinished).toBe(true);
  },
);
