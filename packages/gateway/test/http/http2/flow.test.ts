import { expect, test, vi } from "vitest";
import { ErrorCode, Flag, FrameType } from "../../../src/http/http2/rfc9113.ts";
import type { Stream } from "../../../src/http/http2/stream.ts";
import { dial, four, frame, type Peer, type ReceivedFrame, request, serveStreams, setting } from "./peer.ts";

const { END_STREAM: endStream, END_HEADERS: endHeaders } = Flag;
const whole = endHeaders | endStream;
const timeout = { timeout: 60_000 };
const ok = { status: 200, headers: {} };

const lengthOn = (received: readonly ReceivedFrame[], streamId: number) =>
  received
    .filter(({ type, id }) => type === FrameType.DATA && id === streamId)
    .reduce((sum, { payload }) => sum + payload.length, 0);

const isEnd = (id: number) => (received: ReceivedFrame) => received.id === id && (received.flags & endStream) !== 0;

/** Resolves when the server has handled all frames sent before. */
async function settled(peer: Peer): Promise<void> {
  const mark = String(peer.received.length).padStart(8, "m");
  peer.send(frame(FrameType.PING, { payload: mark }));
  await peer.receives(({ type, payload }) => type === FrameType.PING && payload.toString() === mark);
}

const sending = (body: Buffer, trailers?: Record<string, string>) => (stream: Stream) => {
  stream.answer({ ...ok, body, trailers });
};

test("an answer waits for the window of its stream, and goes on as it widens", async () => {
  const body = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
  await using server = await serveStreams(sending(body, { last: "words" }));
  await using peer = await dial(server);
  peer.send(setting(4, 10), frame(FrameType.WINDOW_UPDATE, { payload: four(1_000_000) }), request(1, whole));
  await settled(peer);
  expect(lengthOn(peer.received, 1)).toBe(10);
  peer.send(frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(20_000) }));
  await settled(peer);
  expect(lengthOn(peer.received, 1)).toBe(20_010);
  peer.send(setting(4, 100_000));
  await peer.receives(isEnd(1));
  const parts = peer.received.filter(({ type }) => type === FrameType.DATA).map(({ payload }) => payload);
  expect(Buffer.concat(parts).equals(body)).toBe(true);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(16_384);
});

test("an answer waits for the window of the connection, which streams share in turns", async () => {
  await using server = await serveStreams(sending(Buffer.alloc(80_000)));
  await using peer = await dial(server);
  peer.send(setting(4, 1_000_000), request(1, whole), request(3, whole));
  await settled(peer);
  expect(lengthOn(peer.received, 1) + lengthOn(peer.received, 3)).toBe(65_535);
  peer.send(frame(FrameType.WINDOW_UPDATE, { payload: four(40_000) }));
  await settled(peer);
  expect(lengthOn(peer.received, 3)).toBeGreaterThan(16_000);
  peer.send(frame(FrameType.WINDOW_UPDATE, { payload: four(1_000_000) }));
  await Promise.all([peer.receives(isEnd(1)), peer.receives(isEnd(3))]);
});

test("a window that was made negative has to be filled first", async () => {
  await using server = await serveStreams(sending(Buffer.alloc(1000)));
  await using peer = await dial(server);
  peer.send(setting(4, 500), request(1, whole));
  await settled(peer);
  peer.send(setting(4, 100), frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(400) }));
  await settled(peer);
  expect(lengthOn(peer.received, 1)).toBe(500);
  peer.send(frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(1) }));
  await settled(peer);
  expect(lengthOn(peer.received, 1)).toBe(501);
});

test("more than the window lets in ends the stream, or the connection", async () => {
  await using server = await serveStreams(() => {}, { messageMaxBytes: 0 });
  await using peer = await dial(server);
  const settings = await peer.receives(({ type }) => type === FrameType.SETTINGS);
  const window = settings.payload.readUInt32BE(6 + 2);
  const full = frame(FrameType.DATA, { id: 1, payload: Buffer.alloc(16_384) });
  peer.send(request(1, endHeaders), ...Array.from({ length: Math.floor(window / 16_384) }, () => full));
  await settled(peer);
  expect(peer.received.filter(({ type }) => type === FrameType.RST_STREAM)).toEqual([]);
  peer.send(full);
  const { payload } = await peer.receives(({ type }) => type === FrameType.RST_STREAM);
  expect(payload.readUInt32BE(0)).toBe(ErrorCode.FLOW_CONTROL_ERROR);
  const ids = Array.from({ length: 12 }, (_, index) => 2 * index + 3);
  for (const id of ids)
    peer.send(
      request(id, endHeaders),
      ...Array.from({ length: 4 }, () => frame(FrameType.DATA, { id, payload: Buffer.alloc(16_000) })),
    );
  const away = await peer.receives(({ type }) => type === FrameType.GOAWAY);
  expect(away.payload.readUInt32BE(4)).toBe(ErrorCode.FLOW_CONTROL_ERROR);
});

test("what comes of a body that is refused takes nothing from the window of the connection", async () => {
  await using server = await serveStreams(() => {}, { messageMaxBytes: 0 });
  await using peer = await dial(server);
  const part = Buffer.alloc(16_000);
  for (let id = 1; id < 200; id += 2) {
    peer.send(request(id, endHeaders, [["content-length", "1"]]), frame(FrameType.DATA, { id, payload: part }));
    await peer.receives((received) => received.type === FrameType.RST_STREAM && received.id === id);
  }
  const consumed = peer.received.filter(({ type, id }) => type === FrameType.WINDOW_UPDATE && id === 0);
  const sum = consumed.slice(1).reduce((all, { payload }) => all + payload.readUInt32BE(0), 0);
  expect(sum).toBeGreaterThan(1_000_000);
});

test("a body that is read is let in however large, one that is not read stops its client", async () => {
  let read = 0;
  const waiting: Stream[] = [];
  await using server = await serveStreams(
    (stream) => {
      if (stream.id === 3) return void waiting.push(stream);
      const data = ({ length }: Buffer) => {
        read += length;
      };
      stream.receive({ overloaded() {}, data, end: () => stream.answer(ok) });
    },
    { messageMaxBytes: 100_000 },
  );
  await using peer = await dial(server);
  const part = Buffer.alloc(16_384);
  let window = (await peer.receives(({ type }) => type === FrameType.SETTINGS)).payload.readUInt32BE(6 + 2);
  peer.send(request(1, endHeaders));
  const updates = () => peer.received.filter(({ type, id }) => type === FrameType.WINDOW_UPDATE && id === 1);
  let used = 0;
  for (let sent = 0; sent < 2_000_000; sent += part.length) {
    if (window < part.length) {
      await vi.waitFor(() => expect(updates().length).toBeGreaterThan(used), timeout);
      for (const { payload } of updates().slice(used)) window += payload.readUInt32BE(0);
      used = updates().length;
    }
    peer.send(frame(FrameType.DATA, { id: 1, payload: part }));
    window -= part.length;
  }
  peer.send(frame(FrameType.DATA, { id: 1, flags: endStream }), request(3, endHeaders));
  await peer.receives(isEnd(1));
  expect(read).toBeGreaterThanOrEqual(2_000_000);
  peer.send(...Array.from({ length: 3 }, () => frame(FrameType.DATA, { id: 3, payload: part })));
  await settled(peer);
  expect(peer.received.filter(({ type, id }) => type === FrameType.WINDOW_UPDATE && id === 3)).toEqual([]);
  const chunks = waiting[0]?.chunks();
  expect((await chunks?.next())?.value).toHaveLength(3 * part.length);
  await peer.receives(({ type, id }) => type === FrameType.WINDOW_UPDATE && id === 3);
});

test("the parts of a request come as they are asked for, and end with it", async () => {
  const seen: string[] = [];
  const over = Promise.withResolvers<void>();
  await using server = await serveStreams(async (stream) => {
    for await (const part of stream.chunks()) seen.push(part.toString());
    over.resolve();
  });
  await using peer = await dial(server);
  peer.send(request(1, endHeaders), frame(FrameType.DATA, { id: 1, payload: "a" }));
  await vi.waitFor(() => expect(seen).toEqual(["a"]), timeout);
  peer.send(
    frame(FrameType.DATA, { id: 1, payload: "b" }),
    frame(FrameType.DATA, { id: 1, payload: "c", flags: endStream }),
  );
  await over.promise;
  expect(seen.join("")).toBe("abc");
});

test.each([
  ["reset", (peer: Peer) => peer.send(frame(FrameType.RST_STREAM, { id: 1, payload: four(8) }))],
  ["lost", (peer: Peer) => void peer.socket.destroy()],
])("a request whose parts are waited for is given up when it is %s", async (_, end) => {
  const failed = Promise.withResolvers<unknown>();
  const closed = Promise.withResolvers<boolean>();
  await using server = await serveStreams((stream) => {
    stream.onClose = () => closed.resolve(stream.complete);
    (async () => {
      for await (const _ of stream.chunks());
    })().catch(failed.resolve);
  });
  await using peer = await dial(server);
  peer.send(request(1, endHeaders));
  await settled(peer);
  end(peer);
  expect(await failed.promise).toBeInstanceOf(Error);
  expect(await closed.promise).toBe(false);
});

test("an answer that comes in parts waits for its client, and its writer waits for it", async () => {
  let written = 0;
  const over = Promise.withResolvers<void>();
  await using server = await serveStreams(async (stream) => {
    stream.begin(200, { "x-a": "b" });
    for (; written < 10; written += 1) await stream.write(Buffer.alloc(1000, String(written)));
    stream.finish({ "x-last": "c" });
    over.resolve();
  });
  await using peer = await dial(server);
  peer.send(setting(4, 2500), request(1, whole));
  await vi.waitFor(() => expect(lengthOn(peer.received, 1)).toBe(2500), timeout);
  await settled(peer);
  expect(written).toBe(2);
  peer.send(frame(FrameType.WINDOW_UPDATE, { id: 1, payload: four(100_000) }));
  await over.promise;
  await peer.receives(isEnd(1));
  expect(lengthOn(peer.received, 1)).toBe(10_000);
});

test("an answer that is given up lets its writer go on", async () => {
  const over = Promise.withResolvers<void>();
  await using server = await serveStreams(async (stream) => {
    stream.begin(200, {});
    await stream.write(Buffer.alloc(100_000));
    expect(stream.closed).toBe(true);
    over.resolve();
  });
  await using peer = await dial(server);
  peer.send(request(1, whole));
  await settled(peer);
  peer.send(frame(FrameType.RST_STREAM, { id: 1, payload: four(8) }));
  await over.promise;
});

test("an answer that its client does not let out for too long is given up", async () => {
  await using server = await serveStreams(sending(Buffer.alloc(100_000)), { bodyTimeoutMs: 50 });
  await using peer = await dial(server);
  peer.send(request(1, whole));
  const { payload } = await peer.receives(({ type }) => type === FrameType.RST_STREAM);
  expect([payload.readUInt32BE(0), lengthOn(peer.received, 1)]).toEqual([ErrorCode.CANCEL, 65_535]);
});

test("a client that does not read is cut off, after no more was read of it than answers fit", async () => {
  let [served, lost] = [0, 0];
  await using server = await serveStreams(
    (stream) => {
      served += 1;
      stream.onClose = () => {
        if (!stream.complete) lost += 1;
      };
      stream.answer({ ...ok, body: Buffer.alloc(1_000_000) });
    },
    { bodyTimeoutMs: 2000 },
  );
  await using peer = await dial(server);
  peer.socket.pause();
  peer.send(setting(4, 2 ** 31 - 1), frame(FrameType.WINDOW_UPDATE, { payload: four(2 ** 31 - 1 - 65_535) }));
  for (let id = 1; id < 400; id += 2) peer.send(request(id, whole));
  await vi.waitFor(() => expect(lost).toBeGreaterThan(90), timeout);
  expect(served).toBeLessThanOrEqual(110);
});

test("an answer before the end of its request asks for no more of it, and what still comes is dropped", async () => {
  await using server = await serveStreams((stream) => stream.answer({ ...ok, body: Buffer.from("no") }));
  await using peer = await dial(server);
  peer.send(request(1, endHeaders));
  const { payload } = await peer.receives(({ type }) => type === FrameType.RST_STREAM);
  expect(payload.readUInt32BE(0)).toBe(ErrorCode.NO_ERROR);
  const order = peer.received.filter(({ id }) => id === 1).map(({ type }) => type);
  expect(order).toEqual([FrameType.HEADERS, FrameType.DATA, FrameType.RST_STREAM]);
  peer.send(frame(FrameType.DATA, { id: 1, payload: "more" }), request(1, whole), request(3, whole));
  await peer.receives(isEnd(3));
  expect(peer.received.filter(({ type }) => type === FrameType.RST_STREAM)).toHaveLength(1);
});

test("an answer whose fields do not fit a frame goes on in others", async () => {
  await using server = await serveStreams((stream) =>
    stream.answer({ ...ok, headers: { long: "x".repeat(40_000) }, body: Buffer.from("a") }),
  );
  await using peer = await dial(server);
  peer.send(request(1, whole));
  await peer.receives(isEnd(1));
  const types = peer.received.filter(({ id }) => id === 1).map(({ type, flags }) => [type, flags]);
  expect(types).toEqual([
    [FrameType.HEADERS, 0],
    [FrameType.CONTINUATION, 0],
    [FrameType.CONTINUATION, endHeaders],
    [FrameType.DATA, endStream],
  ]);
});
