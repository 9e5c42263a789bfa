import { type ClientHttp2Session, connect, constants } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { openSample, type SampleHandler } from "../sample_gateway.ts";

/** Counts the calls that begin, each of which takes a while. */
function counting() {
  const count = { begun: 0 };
  const handler: SampleHandler = async (request) => {
    count.begun += 1;
    await pause(20);
    return request;
  };
  return { count, handler };
}

async function statusOf(session: ClientHttp2Session): Promise<unknown> {
  const stream = session.request({ ":path": "/one/a" });
  const status = new Promise((resolve, reject) => {
    // RFC 9113, 8.7: a refused request was not begun, and is sent again.
    const refused = () => stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    stream.on("response", (headers) => resolve(headers[":status"]));
    stream.on("error", (error) => (refused() ? resolve("refused") : reject(error)));
  });
  stream.resume();
  return status;
}

test("connections of HTTP/2 that retire under load lose no call", async () => {
  const { count, handler } = counting();
  await using port = await openSample({ connectionAgeMs: 150 }, { handler });
  const sessions: ClientHttp2Session[] = [];
  const usable = () => {
    const last = sessions.at(-1);
    if (last && !last.closed && !last.destroyed) return last;
    const next = connect(port.url);
    sessions.push(next);
    return next;
  };
  const statuses: unknown[] = [];
  const caller = async () => {
    while (sessions.length < 6) statuses.push(await statusOf(usable()));
  };
  await Promise.all(Array.from({ length: 20 }, caller));
  const answered = statuses.filter((status) => status !== "refused");
  expect(new Set(answered)).toEqual(new Set([200]));
  expect(answered.length).toBe(count.begun);
  for (const session of sessions) session.destroy();
});

test("a client of gRPC does not notice that its connections retire", async () => {
  const { count, handler } = counting();
  await using port = await openSample({ connectionAgeMs: 100 }, { handler });
  const client = new Client(new URL(port.url).host, credentials.createInsecure());
  const same = (bytes: Buffer) => bytes;
  const call = () =>
    new Promise<Error | null>((resolve) =>
      client.makeUnaryRequest("/sample.Samples/Do", same, same, Buffer.of(), new Metadata(), (error) => resolve(error)),
    );
  const errors: unknown[] = [];
  const caller = async () => {
    for (let calls = 0; calls < 50; calls++) errors.push(await call());
  };
  await Promise.all(Array.from({ length: 10 }, caller));
  expect(errors.filter((error) => error !== null)).toEqual([]);
  expect(count.begun).toBe(500);
  client.close();
});
