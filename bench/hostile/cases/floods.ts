import type { Case } from "../case.ts";
import { begin, type Client, isOver, open, paced } from "../client.ts";
import { block, type Fields, flags, frame, integer, preface, settings, types, windowUpdate } from "../frames.ts";

const json = { "content-type": "application/json" };
const health = "/grpc.health.v1.Health/Watch";
const empty = Buffer.alloc(0);

/** Frames that are sent again and again on one connection after another, each until the server ends it. */
type Flood = {
  readonly name: string;
  /** Sent first. */
  readonly opening?: (client: Client) => Buffer;
  /** About 64 KiB of frames; streams are numbered from this one on. */
  readonly frames: (client: Client, stream: number) => { readonly bytes: Buffer; readonly streams: number };
};

function flooding({ name, opening = () => empty, frames }: Flood): Case {
  return {
    name,
    caller: "unknown",
    async run(client) {
      while (!isOver(client)) await flood(client, opening(client), frames);
      return 0;
    },
  };
}

// A connection that is not ended is left after so many bytes, so that there is more than one.
const mostPerConnection = 8 * 2 ** 20;

async function flood(client: Client, opening: Buffer, frames: Flood["frames"]): Promise<void> {
  using wire = await open(client);
  await wire.write(Buffer.concat([preface, settings(), windowUpdate(0, 2 ** 30), opening]));
  // Bytes that a connection has sent are under way until it is closed.
  const ends: (() => void)[] = [];
  let stream = 3;
  for (let sent = 0; sent < mostPerConnection && !wire.isClosed() && !isOver(client); ) {
    await paced(client);
    const { bytes, streams } = frames(client, stream);
    ends.push(begin(client, bytes.length, Math.max(1, streams)));
    await wire.write(bytes);
    // In this tick the answers of the server are read, and the end of a connection is seen.
    await new Promise((resolve) => setImmediate(resolve));
    sent += bytes.length;
    stream += 2 * streams;
  }
  wire.socket.end();
  const waiting = setTimeout(() => wire.socket.destroy(), 1000);
  await wire.closed;
  clearTimeout(waiting);
  for (const end of ends) end();
}

const fields = ({ host, port }: Client, path: string, more: Fields = {}): Fields => ({
  ":method": "POST",
  ":scheme": "http",
  ":path": path,
  ":authority": `${host}:${port}`,
  ...more,
});

/** The same frame again and again. */
const same = (make: () => Buffer) => {
  let many: Buffer | undefined;
  return () => {
    if (!many) {
      const one = make();
      many = Buffer.alloc(Math.ceil(65_536 / one.length) * one.length, one);
    }
    return { bytes: many, streams: 0 };
  };
};

/** Frames for one new stream after the other. */
const perStream =
  (count: number, make: (client: Client, stream: number) => Buffer) => (client: Client, first: number) => ({
    bytes: Buffer.concat(Array.from({ length: count }, (_, n) => make(client, first + 2 * n))),
    streams: count,
  });

const head = (client: Client, stream: number, path: string, flag: number = flags.endHeaders) =>
  frame(types.headers, flag, stream, block(fields(client, path, json)));

const openBody = (client: Client) => head(client, 1, "/v1/sessions");
const openReflection = (client: Client) =>
  frame(
    types.headers,
    flags.endHeaders,
    1,
    block(
      fields(client, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", {
        "content-type": "application/grpc",
        te: "trailers",
      }),
    ),
  );

const code = (value: number) => {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(value);
  return payload;
};

const control: readonly Case[] = [
  flooding({ name: "PING flood", frames: same(() => frame(types.ping, flags.none, 0, Buffer.alloc(8))) }),
  flooding({ name: "SETTINGS flood", frames: same(() => settings([4, 65_535])) }),
  flooding({
    name: "SETTINGS of 2,700 windows flood",
    frames: same(() => settings(...Array.from({ length: 2700 }, (_, n) => [4, n % 2 ? 65_535 : 70_000] as const))),
  }),
  flooding({ name: "PRIORITY flood", frames: same(() => frame(types.priority, flags.none, 1, Buffer.alloc(5, 5))) }),
  flooding({ name: "frames of an unknown type", frames: same(() => frame(0x42, flags.none, 0)) }),
  flooding({ name: "WINDOW_UPDATE flood", frames: same(() => windowUpdate(0, 1)) }),
  flooding({
    name: "PING after padding-only DATA",
    opening: openBody,
    frames: same(() =>
      Buffer.concat([
        frame(types.data, flags.padded, 1, Buffer.of(0)),
        frame(types.ping, flags.none, 0, Buffer.alloc(8)),
      ]),
    ),
  }),
];

const streams: readonly Case[] = [
  flooding({
    name: "rapid reset",
    frames: perStream(400, (client, id) =>
      Buffer.concat([head(client, id, "/v1/sessions"), frame(types.reset, flags.none, id, code(8))]),
    ),
  }),
  flooding({
    name: "rapid reset of GET /openapi.json",
    frames: perStream(400, (client, id) =>
      Buffer.concat([
        frame(
          types.headers,
          flags.endHeaders | flags.endStream,
          id,
          block({ ...fields(client, "/openapi.json", { "accept-encoding": "br" }), ":method": "GET" }),
        ),
        frame(types.reset, flags.none, id, code(8)),
      ]),
    ),
  }),
  flooding({
    name: "streams reset by the server for WINDOW_UPDATE of 0",
    frames: perStream(400, (client, id) => Buffer.concat([head(client, id, "/v1/sessions"), windowUpdate(id, 0)])),
  }),
  flooding({ name: "streams beyond the limit", frames: perStream(400, (client, id) => head(client, id, health)) }),
  flooding({
    name: "requests without an end to an unknown path",
    frames: perStream(400, (client, id) => head(client, id, "/nope")),
  }),
];

const blocks: readonly Case[] = [
  flooding({
    name: "CONTINUATION flood",
    opening: (client) => frame(types.headers, flags.none, 1, block(fields(client, "/v1/sessions"))),
    frames: same(() => frame(types.continuation, flags.none, 1)),
  }),
  flooding({
    name: "HPACK, references to an entry of 4 KB",
    opening: (client) =>
      frame(types.headers, flags.endHeaders, 1, Buffer.concat([block(fields(client, "/nope")), entry()])),
    frames: perStream(4, (client, id) =>
      frame(
        types.headers,
        flags.endHeaders | flags.endStream,
        id,
        Buffer.concat([block(fields(client, "/nope")), Buffer.alloc(16_000, 0x80 | 62)]),
      ),
    ),
  }),
  flooding({
    name: "HPACK, the size of the table 16,000 times",
    frames: perStream(4, (client, id) =>
      frame(
        types.headers,
        flags.endHeaders | flags.endStream,
        id,
        Buffer.concat([Buffer.alloc(16_000, 0x20), block(fields(client, "/nope"))]),
      ),
    ),
  }),
  flooding({
    name: "HPACK, 1,800 new entries a block",
    frames: perStream(4, (client, id) =>
      frame(
        types.headers,
        flags.endHeaders | flags.endStream,
        id,
        Buffer.concat([
          block(fields(client, "/nope")),
          ...Array.from({ length: 1800 }, (_, n) => Buffer.from(`@\x03${`${n}`.padStart(3, "a").slice(-3)}\x01b`)),
        ]),
      ),
    ),
  }),
];

// RFC 7541, 6.2.1: a literal that is indexed, which just fits into the table.
const entry = () => Buffer.concat([Buffer.of(0x40, 1), Buffer.from("x"), integer(4000, 7), Buffer.alloc(4000, 0x61)]);

const bodies: readonly Case[] = [
  flooding({
    name: "DATA of one byte each, unary",
    opening: openBody,
    frames: same(() => frame(types.data, flags.none, 1, Buffer.of(0x20))),
  }),
  flooding({
    name: "DATA of one byte each, reflection",
    opening: openReflection,
    frames: same(() => frame(types.data, flags.none, 1, Buffer.of(0))),
  }),
  flooding({
    name: "DATA of padding only",
    opening: openBody,
    frames: same(() => frame(types.data, flags.padded, 1, Buffer.of(0))),
  }),
  flooding({ name: "DATA of nothing", opening: openBody, frames: same(() => frame(types.data, flags.none, 1)) }),
  flooding({
    name: "DATA after the answer",
    opening: (client) => head(client, 1, "/nope"),
    frames: same(() => frame(types.data, flags.none, 1, Buffer.of(0x20))),
  }),
  { name: "chunks of one byte, unary", caller: "unknown", run: (client) => chunks(client, "/v1/sessions") },
  { name: "chunks of one byte, after the answer", caller: "unknown", run: (client) => chunks(client, "/nope") },
];

async function chunks(client: Client, path: string): Promise<number> {
  const many = Buffer.alloc(65_520, "1\r\n \r\n");
  while (!isOver(client)) {
    using wire = await open(client);
    const ends: (() => void)[] = [];
    const fields = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    await wire.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
    for (let sent = 0; sent < 24_000_000 && !wire.isClosed() && !isOver(client); sent += many.length) {
      await paced(client);
      ends.push(begin(client, many.length));
      await wire.write(many);
    }
    for (const end of ends) end();
  }
  return 0;
}

/** Frames and chunks that cost their sender nothing. */
export const floodCases: readonly Case[] = [...control, ...streams, ...blocks, ...bodies];
