import { connect } from "node:http2";
import { expect, test, vi } from "vitest";
import { ErrorCode, Flag, FrameType } from "../../../src/http/http2/rfc9113.ts";
import type { Stream } from "../../../src/http/http2/stream.ts";
import { dial, echo, four, frame, type ReceivedFrame, request, serveStreams } from "./peer.ts";
import { seeded } from "./seeded.ts";

const { END_STREAM: endStream, END_HEADERS: endHeaders, ACK: ack } = Flag;
const whole = endHeaders | endStream;
const timeout = { timeout: 60_000 };
const largest = 2 ** 31 - 1;
const isEnd = (id: number) => (received: ReceivedFrame) => received.id === id && (received.flags & endStream) !== 0;
const aways = (received: readonly ReceivedFrame[]) =>
  received
    .filter(({ type }) => type === FrameType.GOAWAY)
    .map(({ payload }) => [payload.readUInt32BE(0), payload.readUInt32BE(4)]);

test("a server sends its settings at once", async () => {
  await using server = await serveStreams(echo, { streamsMax: 7, headersMaxBytes: 5000, messageMaxBytes: 200_000 });
  await using peer = await dial(server);
  await peer.receives(({ type, flags }) => type === FrameType.SETTINGS && flags === ack);
  const [settings, window] = peer.received;
  const entries = Array.from({ length: 3 }, (_, index) => [
    settings?.payload.readUInt16BE(6 * index),
    settings?.payload.readUInt32BE(6 * index + 2),
  ]);
  expect(entries).toEqual([
    [3, 7],
    [4, 65_535],
    [6, 5000],
  ]);
  expect([window?.type, window?.id]).toEqual([FrameType.WINDOW_UPDATE, 0]);
});

test("a connection that is closed serves what was on its way, and loses nothing that runs", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream));
  await using peer = await dial(server);
  peer.send(request(1, whole));
  await vi.waitFor(() => expect(streams).toHaveLength(1), timeout);
  server.connections.close("used");
  server.connections.close("all");
  const ping = await peer.receives(({ type }) => type === FrameType.PING);
  expect(aways(peer.received)).toEqual([[largest, ErrorCode.NO_ERROR]]);
  // Sent before the client has received GOAWAY, and after it has acknowledged the PING.
  peer.send(request(3, whole), frame(FrameType.PING, { flags: ack, payload: ping.payload }), request(5, whole));
  await vi.waitFor(() => expect(aways(peer.received)).toHaveLength(2), timeout);
  expect(aways(peer.received)[1]).toEqual([3, ErrorCode.NO_ERROR]);
  expect(streams.map(({ id }) => id)).toEqual([1, 3]);
  for (const stream of streams) stream.answer({ status: 200, headers: {}, body: Buffer.from("late") });
  await Promise.all([peer.receives(isEnd(1)), peer.receives(isEnd(3)), peer.ended]);
});

test("a client that does not answer the PING is waited for, but not for ever", async () => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  peer.send(request(1, whole));
  await peer.receives(isEnd(1));
  server.connections.close("used");
  await peer.ended;
  expect(aways(peer.received)).toEqual([
    [largest, ErrorCode.NO_ERROR],
    [1, ErrorCode.NO_ERROR],
  ]);
});

test("a client that goes away gets the answers it waits for", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream));
  await using peer = await dial(server);
  peer.send(request(1, whole), frame(FrameType.GOAWAY, { payload: Buffer.alloc(8) }));
  await peer.receives(({ type }) => type === FrameType.GOAWAY);
  streams[0]?.answer({ status: 200, headers: {}, body: Buffer.from("late") });
  await peer.receives(isEnd(1));
  await peer.ended;
});

test("a connection that was used is closed, one that was not may be left", async () => {
  await using server = await serveStreams();
  await using used = await dial(server);
  await using fresh = await dial(server);
  used.send(request(1, whole));
  await used.receives(isEnd(1));
  server.connections.close("used");
  await used.ended;
  fresh.send(request(1, whole));
  await fresh.receives(isEnd(1));
  expect(aways(fresh.received)).toEqual([]);
});

test("an idle connection is closed, also one that sends PING, and one with an open stream is not", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream), { idleTimeoutMs: 1000 });
  await using busy = await dial(server);
  await using idle = await dial(server);
  busy.send(request(1, whole));
  const pinging = setInterval(() => idle.send(frame(FrameType.PING, { payload: "12345678" })), 20);
  await idle.ended;
  clearInterval(pinging);
  expect(aways(busy.received)).toEqual([]);
  streams[0]?.answer({ status: 200, headers: {} });
  await busy.receives(isEnd(1));
  await busy.ended;
});

test("a connection ends at its age, once what runs is answered", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream), { connectionAgeMs: 1000 });
  await using peer = await dial(server);
  peer.send(request(1, whole));
  await peer.receives(({ type }) => type === FrameType.GOAWAY);
  streams[0]?.answer({ status: 200, headers: {} });
  await peer.receives(isEnd(1));
  await peer.ended;
});

test("the handler is notified once when a stream is closed, and whether its answer was complete", async () => {
  const reported: string[] = [];
  await using server = await serveStreams((stream) => {
    stream.onClose = () => void reported.push(`${stream.id} ${stream.complete}`);
    if (stream.id === 1) stream.answer({ status: 200, headers: {} });
    if (stream.id === 5) stream.reset(ErrorCode.INTERNAL_ERROR);
  });
  await using peer = await dial(server);
  peer.send(request(1, whole), request(3, whole), frame(FrameType.RST_STREAM, { id: 3, payload: four(8) }));
  peer.send(request(5, whole), request(7, whole), request(9, endHeaders));
  await peer.receives(({ type, id }) => type === FrameType.RST_STREAM && id === 5);
  peer.socket.destroy();
  await vi.waitFor(() => expect(reported).toHaveLength(5), timeout);
  expect(reported).toEqual(["1 true", "3 false", "5 false", "7 false", "9 false"]);
});

test("an answer to a closed stream is not sent", async () => {
  const streams: Stream[] = [];
  await using server = await serveStreams((stream) => void streams.push(stream));
  await using peer = await dial(server);
  peer.send(request(1, whole), frame(FrameType.RST_STREAM, { id: 1, payload: four(8) }), request(3, whole));
  await vi.waitFor(() => expect(streams).toHaveLength(2), timeout);
  const [over, running] = streams;
  over?.answer({ status: 200, headers: {} });
  over?.begin(200, {});
  expect(over?.write(Buffer.from("a"))).toBeUndefined();
  over?.finish();
  over?.reset(ErrorCode.CANCEL);
  running?.answer({ status: 200, headers: {} });
  running?.answer({ status: 500, headers: {} });
  await peer.receives(isEnd(3));
  expect(peer.received.filter(({ id }) => id === 1)).toEqual([]);
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
    () => frame(FrameType.DATA, { id: 2 * random(20) + 1, flags: random(2), payload: bytes(random(30)) }),
  ];
  for (let round = 0; round < 300; round += 1) {
    await using peer = await dial(server);
    for (let count = 0; count < 20; count += 1) peer.send((kinds[random(kinds.length)] ?? strange)());
    peer.socket.end();
    await peer.ended;
  }
  await using peer = await dial(server);
  peer.send(request(1, whole));
  await peer.receives(isEnd(1));
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
