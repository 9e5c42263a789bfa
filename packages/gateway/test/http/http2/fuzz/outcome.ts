import { createHash } from "node:crypto";
import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as tick } from "node:timers/promises";
import { type Connections, type Http2Implementation, openConnections } from "../../../../src/http/connections.ts";
import type { Exchange } from "../../../../src/http/exchange.ts";
import { Decoder } from "../../../../src/http/http2/hpack/decoder.ts";
import { ErrorCode, Flag, FrameType, Setting } from "../../../../src/http/http2/rfc9113.ts";
import { isAuthority } from "../../../../src/http/target.ts";
import { four, frame, limits, setting } from "../peer.ts";

/** The outcome of one stream. */
export type StreamOutcome = {
  /** The body of a complete response. */
  answer?: string;
  /** The body of a response so far, from its HEADERS on. */
  part?: string;
  /** The error code of RST_STREAM. */
  reset?: number;
};

/** The outcome of a connection. */
export type Outcome = {
  readonly streams: Map<number, StreamOutcome>;
  /** The error code of the last GOAWAY. */
  goaway: number | undefined;
  isClosed: boolean;
};

/** A server of HTTP/2 without a port. */
export type Target = Disposable & {
  readonly implementation: Http2Implementation;
  readonly connections: Connections;
  /** Errors that no client may cause. */
  readonly faults: unknown[];
};

/** Opens a server that echoes every request. */
export function openTarget(implementation: Http2Implementation): Target {
  const faults: unknown[] = [];
  const connections = openConnections({
    http2: implementation,
    limits,
    serve: report,
    onFault: (error) => void faults.push(error),
  });
  return { implementation, connections, faults, [Symbol.dispose]: () => connections.destroy() };
}

/** The body of a refusal; a handler refuses these requests too. */
export const refusal = "refused";

function report(exchange: Exchange): void {
  const hash = createHash("sha256");
  const { method, target, authority, headers, fault } = exchange;
  if (fault || !isAuthority(authority ?? "")) {
    exchange.answer({ status: 400, headers: {}, body: refusal });
    return;
  }
  exchange.receive({
    overloaded() {},
    data: (part) => void hash.update(part),
    end() {
      const fields = Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1));
      const text = JSON.stringify({ method, target, authority, fields, body: hash.digest("base64") });
      if (method === "HEAD") exchange.answer({ status: 200, headers: { "x-request": encodeURIComponent(text) } });
      else exchange.answer({ status: 200, headers: {}, body: text });
    },
  });
}

/** Ticks of the event loop without a byte after which no more are expected: nothing here waits for a clock. */
const quietTicks = 8;

/** Sends bytes on a new connection, and returns the outcome once nothing happens any more. */
export async function outcomeOf(target: Target, chunks: readonly Buffer[]): Promise<Outcome> {
  const [client, server] = duplexPair();
  const outcome: Outcome = { streams: new Map(), goaway: undefined, isClosed: false };
  let received = 0;
  const listener = new Listener(outcome);
  client.on("data", (chunk: Buffer) => {
    received += 1;
    listener.read(chunk);
  });
  const closed = () => {
    outcome.isClosed = true;
  };
  client.on("error", closed).on("end", closed).on("close", closed);
  target.connections.accept(server as Duplex, "2");
  for (const chunk of [...chunks, openWindows]) if (!outcome.isClosed) client.write(chunk);
  for (let quiet = 0, before = -1; quiet < quietTicks; quiet += 1) {
    if (before !== received) quiet = 0;
    before = received;
    await tick();
  }
  client.off("end", closed).off("close", closed);
  client.destroy();
  server.destroy();
  await tick();
  return outcome;
}

// Opens the windows, so that responses are complete.
const openWindows = Buffer.concat([
  setting(Setting.INITIAL_WINDOW_SIZE, 1_000_000),
  frame(FrameType.WINDOW_UPDATE, { payload: four(1_000_000) }),
]);

type Got = { readonly type: number; readonly flags: number; readonly id: number; readonly payload: Buffer };

/** Records the frames of a server. */
class Listener {
  readonly #outcome: Outcome;
  readonly #decoder = new Decoder();
  readonly #answers = new Map<number, string>();
  #block: Buffer[] = [];
  #rest: Buffer = Buffer.alloc(0);

  constructor(outcome: Outcome) {
    this.#outcome = outcome;
  }

  read(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 9 && this.#rest.length >= 9 + this.#rest.readUIntBE(0, 3)) {
      const rest = this.#rest;
      const end = 9 + rest.readUIntBE(0, 3);
      this.#note({ type: rest[3] ?? 0, flags: rest[4] ?? 0, id: rest.readUInt32BE(5), payload: rest.subarray(9, end) });
      this.#rest = rest.subarray(end);
    }
  }

  #note({ type, flags, id, payload }: Got): void {
    if (type === FrameType.GOAWAY) this.#outcome.goaway = payload.readUInt32BE(4);
    if (id === 0) return;
    const stream = this.#outcome.streams.get(id) ?? {};
    this.#outcome.streams.set(id, stream);
    if (type === FrameType.RST_STREAM) stream.reset ??= payload.readUInt32BE(0);
    if (type === FrameType.DATA) this.#add(id, payload.toString());
    if (type === FrameType.HEADERS) stream.part ??= "";
    const isBlock = type === FrameType.HEADERS || type === FrameType.CONTINUATION;
    if (isBlock) this.#fields(id, payload, (flags & Flag.END_HEADERS) !== 0);
    const endsStream = (type === FrameType.DATA || type === FrameType.HEADERS) && (flags & Flag.END_STREAM) !== 0;
    if (stream.part !== undefined) stream.part = this.#answers.get(id) ?? "";
    if (endsStream) stream.answer = stream.part ?? "";
  }

  #fields(id: number, fragment: Buffer, isLast: boolean): void {
    this.#block.push(fragment);
    if (!isLast) return;
    const block = Buffer.concat(this.#block.splice(0));
    const add = (name: string, value: string) => {
      if (name === "x-request") this.#add(id, decodeURIComponent(value));
    };
    this.#decoder.decode(block, { start: 0, end: block.length }, { add });
  }

  #add(id: number, text: string): void {
    this.#answers.set(id, (this.#answers.get(id) ?? "") + text);
  }
}

/** Whether a connection was refused. */
export const isRefused = ({ goaway, isClosed }: Outcome): boolean =>
  isClosed || (goaway !== undefined && goaway !== ErrorCode.NO_ERROR);
