import { expect, test } from "vitest";
import { requestsPerTick } from "../../../src/http/http2/limits.ts";
import { ErrorCode, Flag, FrameType } from "../../../src/http/http2/rfc9113.ts";
import type { Stream } from "../../../src/http/http2/stream.ts";
import { floods } from "./floods.ts";
import { block, dial, four, frame, hello, request, serveStreams } from "./peer.ts";

const { END_STREAM: endStream, END_HEADERS: endHeaders } = Flag;
const whole = endHeaders | endStream;
const odd = (index: number) => 2 * index + 1;

test.each(floods)("%s: too many end the connection", async (_, frames) => {
  await using server = await serveStreams((stream) => stream.id === 3 && stream.answer({ status: 200, headers: {} }));
  await using peer = await dial(server);
  peer.send(...frames);
  const { payload } = await peer.receives(({ type }) => type === FrameType.GOAWAY);
  expect(payload.readUInt32BE(4)).toBe(ErrorCode.ENHANCE_YOUR_CALM);
  await peer.ended;
});

test("a client that calls often may also send WINDOW_UPDATE often", async () => {
  await using server = await serveStreams();
  await using peer = await dial(server);
  const calls = 3000;
  for (let index = 0; index < calls; index += 1) {
    const id = odd(index);
    peer.send(
      request(id, whole),
      frame(FrameType.WINDOW_UPDATE, { payload: four(1) }),
      frame(FrameType.PING, { payload: "12345678" }),
    );
    if (index % 50 === 0) await peer.receives((received) => received.id === id && (received.flags & endStream) !== 0);
  }
  await peer.receives((received) => received.id === odd(calls - 1) && (received.flags & endStream) !== 0);
  expect(peer.received.filter(({ type }) => type === FrameType.GOAWAY)).toEqual([]);
});

const many = (count: number, one: (id: number) => Buffer) =>
  Array.from({ length: count }, (_, index) => one(odd(index)));
const refuse = (stream: Stream) => stream.answer({ status: 404, headers: {} });

test("a client that begins requests and never ends them is cut off, and gets the responses that it waits for", async () => {
  const waiting: Stream[] = [];
  await using server = await serveStreams((stream) => void (stream.id === 1 ? waiting.push(stream) : refuse(stream)));
  await using peer = await dial(server);
  peer.send(...many(1000, (id) => request(id, id === 1 ? whole : endHeaders)));
  const { payload } = await peer.receives(({ type }) => type === FrameType.GOAWAY);
  const last = payload.readUInt32BE(0);
  expect([last < 500, payload.readUInt32BE(4)]).toEqual([true, ErrorCode.ENHANCE_YOUR_CALM]);
  waiting[0]?.answer({ status: 200, headers: {} });
  await peer.receives(({ id, type }) => id === 1 && type === FrameType.HEADERS);
  await peer.ended;
  expect(Math.max(...peer.received.map(({ id }) => id))).toBe(last);
});

test("a client whose requests end after they were refused may go on", async () => {
  await using server = await serveStreams(refuse);
  await using peer = await dial(server);
  const end = (id: number) => frame(FrameType.DATA, { id, flags: endStream, payload: "a" });
  peer.send(...many(1000, (id) => Buffer.concat([request(id, endHeaders), end(id)])));
  await peer.receives(({ id, type }) => id === odd(999) && type === FrameType.HEADERS);
  expect(peer.received.filter(({ type }) => type === FrameType.GOAWAY)).toEqual([]);
});

test.each([
  ["", 0, requestsPerTick.most],
  [" and take long", requestsPerTick.ms, requestsPerTick.least],
])("requests that come together%s are begun in several ticks, in their order", async (_, ms, most) => {
  const began: { readonly id: number; readonly tick: number }[] = [];
  let tick = 0;
  let ticking = setImmediate(function next() {
    tick += 1;
    ticking = setImmediate(next);
  });
  await using server = await serveStreams((stream) => {
    began.push({ id: stream.id, tick });
    for (const end = performance.now() + ms; performance.now() < end; );
    refuse(stream);
  });
  await using peer = await dial(server);
  peer.send(...many(200, (id) => request(id, whole)));
  await peer.receives(({ id, type }) => id === odd(199) && type === FrameType.HEADERS);
  clearImmediate(ticking);
  expect(began.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, index) => odd(index)));
  const perTick = Object.values(Object.groupBy(began, (one) => one.tick)).map((these) => these?.length ?? 0);
  expect(Math.max(...perTick)).toBeLessThanOrEqual(2 * most);
});

test("one request too many at once is refused, and may be tried again", async () => {
  await using server = await serveStreams(() => {}, { streamsMax: 2 });
  await using peer = await dial(server);
  peer.send(request(1, whole), request(3, whole), request(5, whole));
  const refused = await peer.receives(({ type }) => type === FrameType.RST_STREAM);
  expect([refused.id, refused.payload.readUInt32BE(0)]).toEqual([5, ErrorCode.REFUSED_STREAM]);
});

test("fields that are too many or too large are reported to the handler, and what follows is read", async () => {
  const seen: boolean[] = [];
  await using server = await serveStreams(({ fault }) => void seen.push(fault === "HEADERS_TOO_LARGE"));
  await using peer = await dial(server);
  const large = ["x", "a".repeat(5000)] as const;
  const fields = Array.from({ length: 65 }, (_, index) => [`x-${index}`, "a"] as const);
  const piece = (more: number) => frame(FrameType.CONTINUATION, { id: 5, flags: more, payload: block([large]) });
  peer.send(
    ...[request(1, whole, [large]), request(3, whole, fields), request(5, endStream), piece(0), piece(endHeaders)],
    ...[request(7, whole, fields.slice(1)), frame(FrameType.PING, { payload: "12345678" })],
  );
  await peer.receives(({ type }) => type === FrameType.PING);
  expect(seen).toEqual([true, true, true, false]);
});

test.each([
  ["sends nothing", Buffer.alloc(0)],
  ["stops within the preface", hello.subarray(0, 20)],
  ["sends no SETTINGS", hello.subarray(0, 24)],
  ["stops within a frame", Buffer.concat([hello, request(1, whole).subarray(0, 15)])],
  ["stops within a block", Buffer.concat([hello, request(1, 0)])],
])("a client that %s is not waited for", async (_, begin) => {
  await using server = await serveStreams(() => {}, { headerTimeoutMs: 50 });
  await using peer = await dial(server, begin);
  await peer.ended;
});
