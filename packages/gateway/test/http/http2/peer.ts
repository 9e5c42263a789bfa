import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import {
  type ConnectionLimits,
  type Connections,
  type Http2Implementation,
  openConnections,
} from "../../../src/http/connections.ts";
import type { Exchange } from "../../../src/http/exchange.ts";
import { FrameType, preface } from "../../../src/http/http2/rfc9113.ts";
import { Stream } from "../../../src/http/http2/stream.ts";

/** Limits of servers in tests. */
export const limits: ConnectionLimits = {
  streamsMax: 100,
  headersMaxBytes: 4096,
  messageMaxBytes: 100_000,
  headerTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  connectionAgeMs: 0,
  bodiesMaxBytes: 67_108_864,
  unknownStreamsMax: 100_000,
};

/** A server of HTTP/2 alone. */
export type Served = AsyncDisposable & {
  readonly port: number;
  readonly connections: Connections;
  /** Errors of ours, which no test expects. */
  readonly faults: unknown[];
};

/** Serves streams on a port of their own, and fails on an error of ours that no test expected. */
export const serveStreams = (
  serve: (stream: Stream) => void = echo,
  some: Partial<ConnectionLimits> = {},
): Promise<Served> => serveHttp2((exchange) => exchange instanceof Stream && serve(exchange), { limits: some });

/** How HTTP/2 is served. */
export type ServeOptions = { readonly limits?: Partial<ConnectionLimits>; readonly http2?: Http2Implementation };

/** Serves HTTP/2 by either implementation. */
export async function serveHttp2(serve: (exchange: Exchange) => void, options: ServeOptions = {}): Promise<Served> {
  const faults: unknown[] = [];
  const connections = openConnections({
    http2: options.http2,
    limits: { ...limits, ...options.limits },
    serve,
    onFault: (error) => void faults.push(error),
  });
  const server = createServer((socket) => connections.accept(socket, "2"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    faults,
    [Symbol.asyncDispose]: async () => {
      connections.destroy();
      await new Promise((resolve) => server.close(resolve));
      if (faults.length > 0) throw faults[0];
    },
  };
}

/** Echoes the body of every request. */
export function echo(stream: Exchange): void {
  const parts: Buffer[] = [];
  stream.receive({
    overloaded() {},
    data: (part) => void parts.push(part),
    end: () =>
      stream.answer({ status: 200, headers: { "x-a": "b" }, body: Buffer.concat(parts), trailers: { c: "d" } }),
  });
}

/** A frame as it was received. */
export type ReceivedFrame = {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
};

/** A client that sends any bytes. */
export type Peer = AsyncDisposable & {
  readonly socket: Socket;
  readonly received: ReceivedFrame[];
  readonly send: (...frames: readonly Uint8Array[]) => void;
  /** The first frame that fits, received before or to come; an error when the connection ends without it. */
  readonly receives: (fits: (frame: ReceivedFrame) => boolean) => Promise<ReceivedFrame>;
  /** Resolves when the server has closed the connection. */
  readonly ended: Promise<void>;
};

/** Opens a connection with the preface and SETTINGS, or with other first bytes. */
export async function dial({ port }: Pick<Served, "port">, begin: Uint8Array = hello): Promise<Peer> {
  const socket = connect(port, "127.0.0.1");
  const received: ReceivedFrame[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  const wake = () => [...waiting].forEach((look) => void look());
  listenTo(socket, (frame) => {
    received.push(frame);
    wake();
  });
  const ended = new Promise<void>((resolve) => {
    socket
      .on("error", () => {})
      .on("close", () => {
        over = true;
        wake();
        resolve();
      });
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(begin);
  const receives: Peer["receives"] = (fits) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = received.find(fits);
        if (!found && !over) return;
        waiting.delete(look);
        if (found) resolve(found);
        else reject(new Error(`it ended after ${JSON.stringify(received)}`));
      };
      waiting.add(look);
      look();
    });
  const send = (...frames: readonly Uint8Array[]) => void socket.write(Buffer.concat(frames));
  return { socket, received, send, receives, ended, [Symbol.asyncDispose]: async () => void socket.destroy() };
}

function listenTo(socket: Socket, tell: (frame: ReceivedFrame) => void): void {
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3);
      tell({
        ...{ type: rest[3] ?? 0, flags: rest[4] ?? 0, id: rest.readUInt32BE(5) },
        payload: rest.subarray(9, end),
      });
      rest = rest.subarray(end);
    }
  });
}

type Parts = { readonly flags?: number; readonly id?: number; readonly payload?: Uint8Array | string };

/** RFC 9113, 4.1. */
export function frame(type: number, { flags = 0, id = 0, payload = "" }: Parts = {}): Buffer {
  const bytes = Buffer.from(payload as string);
  const header = Buffer.alloc(9);
  header.writeUIntBE(bytes.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(id, 5);
  return Buffer.concat([header, bytes]);
}

/** The preface and empty SETTINGS. */
export const hello = Buffer.concat([preface, frame(FrameType.SETTINGS)]);

/** Four bytes of a number. */
export function four(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** SETTINGS of one entry. */
export const setting = (name: number, value: number): Buffer =>
  frame(FrameType.SETTINGS, { payload: Buffer.concat([Buffer.of(0, name), four(value)]) });

/** RFC 7541, 6.2.2: literals without indexing, their names new. */
export function block(fields: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value, "latin1");
    const { length } = bytes;
    const low = length < 127 ? [length] : [127, ((length - 127) & 127) | 128, (length - 127) >> 7];
    return Buffer.concat([Buffer.from(low), bytes]);
  };
  return Buffer.concat(fields.map(([name, value]) => Buffer.concat([Buffer.of(0), text(name), text(value)])));
}

/** The fields of every request. */
export const plain: readonly (readonly [string, string])[] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":authority", "localhost"],
  [":path", "/"],
];

/** The fields of a request, with more of them. */
export const request = (id: number, flags: number, more: readonly (readonly [string, string])[] = []): Buffer =>
  frame(FrameType.HEADERS, { id, flags, payload: block([...plain, ...more]) });
