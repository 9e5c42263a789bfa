import { begin, type Client, open, type Wire } from "./client.ts";
import {
  block,
  type Fields,
  type Frame,
  flags,
  frame,
  frameReader,
  preface,
  settings,
  types,
  windowUpdate,
} from "./frames.ts";

/** The end of one stream. */
export type Ended = { readonly bytes: number; readonly reset: boolean };

type Open = { window: number; bytes: number; readonly ended: (ended: Ended) => void };

type State = {
  window: number;
  initial: number;
  unread: number;
  next: number;
  /** The server takes no new streams. */
  leaving: boolean;
  readonly streams: Map<number, Open>;
  wake: () => void;
};

/** A connection of HTTP/2 whose client decides about every frame. */
export type Http2 = Disposable & {
  readonly wire: Wire;
  /** Whether another request can be sent. */
  readonly isUsable: () => boolean;
  /** Begins a request. */
  readonly request: (fields: Fields, ends?: boolean) => Promise<Stream>;
};

/** One stream of it. */
export type Stream = {
  readonly id: number;
  readonly ended: Promise<Ended>;
  readonly isEnded: () => boolean;
  /** Sends DATA as far as the windows allow; waits at most so long for them; false when they do not open. */
  readonly send: (body: Uint8Array, how?: { readonly ends?: boolean; readonly waitMs?: number }) => Promise<boolean>;
};

const largestWindow = 2 ** 31 - 1;
const mostFrame = 16_384;
const giveBack = 2 ** 24;

/** Opens a connection; `reads` is the window for each answer. */
export async function openHttp2(client: Client, reads = largestWindow): Promise<Http2> {
  const wire = await open(client);
  const state: State = {
    window: 65_535,
    initial: 65_535,
    unread: 0,
    next: 1,
    leaving: false,
    streams: new Map(),
    wake() {},
  };
  const reader = frameReader((one) => take(one, state, wire));
  wire.socket.on("data", reader);
  const all = largestWindow - 65_535;
  await wire.write(Buffer.concat([preface, settings([4, reads]), windowUpdate(0, all)]));
  wire.closed.then(() => {
    for (const { bytes, ended } of state.streams.values()) ended({ bytes, reset: true });
    state.streams.clear();
    state.wake();
  });
  return {
    wire,
    isUsable: () => !wire.isClosed() && !state.leaving,
    request: (fields, ends = false) => requestOn(wire, state, { fields, ends }),
    [Symbol.dispose]: () => wire[Symbol.dispose](),
  };
}

async function requestOn(wire: Wire, state: State, { fields, ends }: { fields: Fields; ends: boolean }) {
  const id = state.next;
  state.next += 2;
  const { promise, resolve } = Promise.withResolvers<Ended>();
  state.streams.set(id, { window: state.initial, bytes: 0, ended: resolve });
  if (wire.isClosed()) resolve({ bytes: 0, reset: true });
  const flag = flags.endHeaders | (ends ? flags.endStream : 0);
  await wire.write(frame(types.headers, flag, id, block(fields)));
  const stream: Stream = {
    id,
    ended: promise,
    isEnded: () => !state.streams.has(id),
    send: (body, how) => send(wire, state, { id, body, ...how }),
  };
  return stream;
}

type Sending = { readonly id: number; readonly body: Uint8Array; readonly ends?: boolean; readonly waitMs?: number };

async function send(wire: Wire, state: State, { id, body, ends = false, waitMs = 5000 }: Sending): Promise<boolean> {
  let at = 0;
  do {
    const stream = state.streams.get(id);
    if (!stream || wire.isClosed()) return false;
    const room = Math.min(mostFrame, body.length - at, stream.window, state.window);
    if (room <= 0 && at < body.length) {
      if (!(await windowOpened(state, waitMs))) return false;
      continue;
    }
    stream.window -= room;
    state.window -= room;
    const last = ends && at + room === body.length;
    await wire.write(frame(types.data, last ? flags.endStream : flags.none, id, body.subarray(at, at + room)));
    at += room;
  } while (at < body.length);
  return true;
}

/** Waits for a WINDOW_UPDATE; false when none comes. */
async function windowOpened(state: State, waitMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, waitMs, false);
  const before = state.wake;
  state.wake = () => {
    before();
    resolve(true);
  };
  const opened = await promise;
  clearTimeout(timer);
  return opened;
}

function take({ type, flags: flag, stream: id, payload }: Frame, state: State, wire: Wire): void {
  const stream = state.streams.get(id);
  switch (type) {
    case types.settings:
      if (flag & flags.ack) break;
      initialWindow(state, payload);
      wire.socket.write(frame(types.settings, flags.ack, 0));
      break;
    case types.ping:
      if (!(flag & flags.ack)) wire.socket.write(frame(types.ping, flags.ack, 0, payload));
      break;
    case types.window:
      if (id === 0) state.window += payload.readUInt32BE();
      else if (stream) stream.window += payload.readUInt32BE();
      break;
    case types.goaway:
      state.leaving = true;
      break;
    case types.data:
      if (stream) stream.bytes += payload.length;
      consumed(state, wire, payload.length);
      break;
  }
  const over = type === types.reset || ((type === types.data || type === types.headers) && flag & flags.endStream);
  if (over && stream) {
    state.streams.delete(id);
    stream.ended({ bytes: stream.bytes, reset: type === types.reset });
  }
  wakeAll(state);
}

function wakeAll(state: State): void {
  const { wake } = state;
  state.wake = nothing;
  wake();
}

function nothing() {}

function initialWindow(state: State, payload: Buffer): void {
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    if (payload.readUInt16BE(at) !== 4) continue;
    const value = payload.readUInt32BE(at + 2);
    for (const stream of state.streams.values()) stream.window += value - state.initial;
    state.initial = value;
  }
}

function consumed(state: State, wire: Wire, bytes: number): void {
  state.unread += bytes;
  if (state.unread < giveBack || wire.isClosed()) return;
  wire.socket.write(windowUpdate(0, state.unread));
  state.unread = 0;
}

/** Sends one request and waits for the end of its answer. */
export async function exchangeHttp2(client: Client, connection: Http2, fields: Fields, body: Uint8Array) {
  const done = begin(client, block(fields).length + body.length);
  const stream = await connection.request(fields, body.length === 0);
  if (body.length > 0) await stream.send(body, { ends: true });
  const ended = await stream.ended;
  done(ended.bytes);
}
