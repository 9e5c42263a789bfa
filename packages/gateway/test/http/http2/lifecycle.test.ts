import { connect } from "node:http2";
import { expect, test, vi } from "vitest";
import { codes, flags, types } from "../../../src/http/http2/protocol.ts";
import type { Stream } from "../../../src/http/http2/stream.ts";
import { dial, echo, four, frame, type Heard, request, serveStreams } from "./peer.ts";
import { seeded } from "./seeded.ts";

const { endStream, endHeaders, ack } = flags;
const whole = endHeaders | endStream;
const patience = { timeout: 15_000 };
const largest = 2 ** 31 - 1;
const isEnd = (id: number) => (heard: Heard) => heard.id === id && (heard.flags & endStream) !== 0;
const aways = (heard: readonly Heard[]) =>
  heard
    .filter(({ type }) => type === types.goaway)
    .map(({ payload }) => [payload.readUInt32BE(0), payload.readUInt32BE(4)]);

test("a server says at once what it asks of its clients", async () => {
  await using server = await serveStreams(echo, { streamsMax: 7, headersMaxBytes: 5000, messageMaxBytes: 200_000 });
  await using peer = await dial(server);
  await peer.hears(({ type, flags }) => type === types.settings && flags === ack);
  const [settings, window] = peer.heard;
  const entries = Array.from({ length: 3 }, (_, index) => [
    settings?.payload.readUInt16BE(6 * index),
    settings?.payload.readUInt32BE(6 * index + 2),
  ]);
  expect(entries).toEqual([
    [3, 7],
    [4, 65_535],
    [6, 5000],
  ]);
  expect([window?.type, window?.id]).toEqual([types.window, 0]);
});

test("a connection that is closed serves what was on its way, and loses nothing that runs", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream));
  await using peer = await dial(server);
  peer.say(request(1, whole));
  await vi.waitFor(() => expect(streams).toHaveLength(1), patience);
  server.sessions.close("used");
  server.sessions.close("all");
  const ping = await peer.hears(({ type }) => type === types.ping);
  expect(aways(peer.heard)).toEqual([[largest, codes.none]]);
  // Sent before the client knew, and what it sends after it said so.
  peer.say(request(3, whole), frame(types.ping, { flags: ack, payload: ping.payload }), request(5, whole));
  await vi.waitFor(() => expect(aways(peer.heard)).toHaveLength(2), patience);
  expect(aways(peer.heard)[1]).toEqual([3, codes.none]);
  expect(streams.map(({ id }) => id)).toEqual([1, 3]);
  for (const stream of streams) stream.answer({ status: 200, headers: {}, body: Buffer.from("late") });
  await Promise.all([peer.hears(isEnd(1)), peer.hears(isEnd(3)), peer.ended]);
});

test("a client that does not answer the PING is waited for, but not for ever", async () => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.say(request(1, whole));
  await peer.hears(isEnd(1));
  server.sessions.close("used");
  await peer.ended;
  expect(aways(peer.heard)).toEqual([
    [largest, codes.none],
    [1, codes.none],
  ]);
});

test("a client that goes away gets the answers it waits for", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream));
  await using peer = await dial(server);
  peer.say(request(1, whole), frame(types.goaway, { payload: Buffer.alloc(8) }));
  await peer.hears(({ type }) => type === types.goaway);
  streams[0]?.answer({ status: 200, headers: {}, body: Buffer.from("late") });
  await peer.hears(isEnd(1));
  await peer.ended;
});

test("a connection that was used is closed, one that was not may be left", async () => {
  await using server = await serveStreams();
  await using used = await dial(server);
  await using fresh = await dial(server);
  used.say(request(1, whole));
  await used.hears(isEnd(1));
  server.sessions.close("used");
  await used.ended;
  fresh.say(request(1, whole));
  await fresh.hears(isEnd(1));
  expect(aways(fresh.heard)).toEqual([]);
});

test("an idle connection is closed, also one that says PING, and one with an open stream is not", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream), { idleTimeoutMs: 100 });
  await using busy = await dial(server);
  await using idle = await dial(server);
  busy.say(request(1, whole));
  const pinging = setInterval(() => idle.say(frame(types.ping, { payload: "12345678" })), 20);
  await idle.ended;
  clearInterval(pinging);
  expect(aways(busy.heard)).toEqual([]);
  streams[0]?.answer({ status: 200, headers: {} });
  await busy.hears(isEnd(1));
  await busy.ended;
});

test("a connection ends at its age, once what runs is answered", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream), { connectionAgeMs: 50 });
  await using peer = await dial(server);
  peer.say(request(1, whole));
  await peer.hears(({ type }) => type === types.goaway);
  streams[0]?.answer({ status: 200, headers: {} });
  await peer.hears(isEnd(1));
  await peer.ended;
});

test("who serves is told once when a stream is over, and whether its answer was complete", async () => {
  const told: string[] = [];
  await using server = await serveStreams((stream) => {
    stream.onClose = () => void told.push(`${stream.id} ${stream.complete}`);
    if (stream.id === 1) stream.answer({ status: 200, headers: {} });
    if (stream.id === 5) stream.close(codes.internal);
  });
  await using peer = await dial(server);
  peer.say(request(1, whole), request(3, whole), frame(types.reset, { id: 3, payload: four(8) }));
  peer.say(request(5, whole), request(7, whole), request(9, endHeaders));
  await peer.hears(({ type, id }) => type === types.reset && id === 5);
  peer.socket.destroy();
  await vi.waitFor(() => expect(told).toHaveLength(5), patience);
  expect(told).toEqual(["1 true", "3 false", "5 false", "7 false", "9 false"]);
});

test("what is said to a stream that is over is not heard", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream));
  await using peer = await dial(server);
  peer.say(request(1, whole), frame(types.reset, { id: 1, payload: four(8) }), request(3, whole));
  await vi.waitFor(() => expect(streams).toHaveLength(2), patience);
  const [over, running] = streams;
  over?.answer({ status: 200, headers: {} });
  over?.begin(200, {});
  expect(over?.write(Buffer.from("a"))).toBeUndefined();
  over?.finish();
  over?.close(codes.cancel);
  running?.answer({ status: 200, headers: {} });
  running?.answer({ status: 500, headers: {} });
  await peer.hears(isEnd(3));
  expect(peer.heard.filter(({ id }) => id === 1)).toEqual([]);
});

test("random bytes and broken frames end connections, and never the process", async () => {
  await using server = await serveStreams();
  const random = seeded(11);
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => random(256)));
  const strange = () => frame(random(12), { flags: random(256), id: random(8), payload: bytes(random(40)) });
  const cut = (whole: Buffer) => whole.subarray(0, random(whole.length + 1));
  const kinds = [
    () => bytes(1 + random(200)),
    strange,
    () => cut(strange()),
    () => request(2 * random(20) + 1, random(256)),
    () => frame(types.data, { id: 2 * random(20) + 1, flags: random(2), payload: bytes(random(30)) }),
  ];
  for (let round = 0; round < 300; round += 1) {
    await using peer = await dial(server);
    for (let count = 0; count < 20; count += 1) peer.say((kinds[random(kinds.length)] ?? strange)());
    peer.socket.end();
    await peer.ended;
  }
  await using peer = await dial(server);
  peer.say(request(1, whole));
  await peer.hears(isEnd(1));
});

test("two thousand streams over twenty connections are all answered with their own bodies", async () => {
  await using server = await serveStreams();
  const sessions = Array.from({ length: 20 }, () => connect(`http://127.0.0.1:${server.port}`));
  const answers = sessions.flatMap((session, at) =>
    Array.from({ length: 100 }, async (_, index) => {
      const stream = session.request({ ":method": "POST", "x-number": `${at} ${index}` });
      stream.end(`${at} ${index}`);
      let text = "";
      for await (const part of stream) text += part;
      return text === `${at} ${index}`;
    }),
  );
  expect((await Promise.all(answers)).filter((good) => !good)).toEqual([]);
  for (const session of sessions) session.destroy();
});

test("a client that widens its windows bit by bit gets a large answer whole", async () => {
  const body = Buffer.alloc(100_000_000, "0123456789abcdef");
  await using server = await serveStreams((stream) => stream.answer({ status: 200, headers: {}, body }));
  const session = connect(`http://127.0.0.1:${server.port}`);
  let size = 0;
  for await (const part of session.request({ ":path": "/" })) size += part.length;
  expect(size).toBe(body.length);
  session.destroy();
});

test("bodies far above the windows go both ways whole, also to a client that reads slowly", async () => {
  await using server = await serveStreams(echo, { messageMaxBytes: 100 });
  const session = connect(`http://127.0.0.1:${server.port}`);
  const body = Buffer.alloc(5_000_000, "0123456789abcdef");
  const stream = session.request({ ":method": "POST" });
  stream.end(body);
  const parts: Buffer[] = [];
  let trailers: Record<string, unknown> = {};
  stream.on("trailers", (fields) => {
    trailers = fields;
  });
  for await (const part of stream) {
    parts.push(part);
    if (parts.length % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(Buffer.concat(parts).equals(body)).toBe(true);
  expect(trailers.c).toBe("d");
  session.destroy();
});
