import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Calls } from "./generator.ts";
import type { Wire } from "./wire.ts";

const frames = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, window: 8 } as const;
const endStream = 1;
const endHeaders = 4;
const ack = 1;

type Waiting = {
  readonly n: number;
  readonly resolve: (granted: boolean) => void;
  readonly reject: (error: Error) => void;
  body: Buffer;
};

type Head = Readonly<Record<string, string>>;
type Http2Calls = Extract<Calls, { http: "2" }>;

const nothing = Buffer.alloc(0);
// A refusal of gRPC comes without a message.
const isThere = (body: Buffer) => body.length > 0;

/** One connection of HTTP/2, framed by hand: the generator must cost little beside what it measures. */
export async function http2Wire(url: string, { fields, body, isRight = isThere }: Http2Calls): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  const waiting = new Map<number, Waiting>();
  const fail = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error);
  };
  socket.on("error", fail).on("close", () => fail(new Error("the server closed a connection")));
  socket.on(
    "data",
    reader((frame) => {
      const over = take(frame, waiting, socket);
      if (over) over.resolve(frame.type !== frames.reset && isRight(over.body, over.n));
    }),
  );
  socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings, window(0, 1 << 30)]));
  const block = blockOf(fields);
  let stream = -1;
  return {
    send: (n) =>
      new Promise((resolve, reject) => {
        stream += 2;
        waiting.set(stream, { n, resolve, reject, body: nothing });
        const headers = frame(frames.headers, endHeaders, stream, block);
        // Nothing else is heard of a connection that was closed between two calls.
        const written = (error?: Error | null) => error && reject(error);
        socket.write(Buffer.concat([headers, frame(frames.data, endStream, stream, body(n))]), written);
      }),
    [Symbol.dispose]: () => socket.destroy(),
  };
}

type Frame = { readonly type: number; readonly flags: number; readonly stream: number; readonly body: Buffer };

/** Cuts what arrives into frames. */
function reader(take: (frame: Frame) => void): (part: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (part) => {
    let bytes = rest.length > 0 ? Buffer.concat([rest, part]) : part;
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3);
      const stream = bytes.readUInt32BE(5);
      take({ type: bytes[3] ?? 0, flags: bytes[4] ?? 0, stream, body: bytes.subarray(9, end) });
      bytes = bytes.subarray(end);
    }
    rest = bytes;
  };
}

/** Takes a frame; returns the call that it ends, if any. */
function take(
  { type, flags, stream, body }: Frame,
  waiting: Map<number, Waiting>,
  socket: Socket,
): Waiting | undefined {
  if (type === frames.settings && !(flags & ack)) socket.write(frame(frames.settings, ack, 0, Buffer.alloc(0)));
  if (type === frames.ping && !(flags & ack)) socket.write(frame(frames.ping, ack, 0, body));
  if (type === frames.goaway) socket.destroy();
  const one = waiting.get(stream);
  if (!one) return undefined;
  if (type === frames.data) one.body = one.body.length > 0 ? Buffer.concat([one.body, body]) : body;
  const over = type === frames.reset || ((type === frames.data || type === frames.headers) && flags & endStream);
  if (!over) return undefined;
  waiting.delete(stream);
  return one;
}

function frame(type: number, flags: number, stream: number, body: Uint8Array): Buffer {
  const whole = Buffer.allocUnsafe(9 + body.length);
  whole.writeUIntBE(body.length, 0, 3);
  whole[3] = type;
  whole[4] = flags;
  whole.writeUInt32BE(stream, 5);
  whole.set(body, 9);
  return whole;
}

function window(stream: number, size: number): Buffer {
  const body = Buffer.alloc(4);
  body.writeUInt32BE(size);
  return frame(frames.window, 0, stream, body);
}

// RFC 9113, 6.5.2: setting 4 is the initial window of streams, here 1 GiB.
const settings = frame(frames.settings, 0, 0, Buffer.from([0, 4, 0x40, 0, 0, 0]));

// RFC 7541, 6.2.2: literal fields with new names, never indexed.
const blockOf = (head: Head) =>
  Buffer.concat(Object.entries(head).map(([name, value]) => Buffer.concat([zero, text(name), text(value)])));

const zero = Buffer.from([0]);
const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
