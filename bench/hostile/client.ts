import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** Counters of one case, in memory that the thread of the attack and the main thread share, so that a hang loses none. */
export type Traffic = {
  /** Bytes written to and read from sockets. */
  readonly sent: number;
  readonly received: number;
  readonly requests: number;
  /** A request is one unit, or one for each 64 KiB that it sends. */
  readonly units: number;
  /** The most units that were under way at once. */
  readonly most: number;
  /** The most bytes that one answer had. */
  readonly answer: number;
};

const names = ["sent", "received", "requests", "units", "most", "answer", "current"] as const;
type Counter = (typeof names)[number];

/** The unit of the goals, in bytes sent. */
export const unitBytes = 65_536;

/** Memory for the counters of one case. */
export const newCounters = (): Float64Array<SharedArrayBuffer> =>
  new Float64Array(new SharedArrayBuffer(8 * names.length));

const at = (name: Counter) => names.indexOf(name);
const add = (counters: Float64Array, name: Counter, amount: number) => {
  counters[at(name)] = (counters[at(name)] ?? 0) + amount;
};
const raise = (counters: Float64Array, name: Counter, amount: number) => {
  counters[at(name)] = Math.max(counters[at(name)] ?? 0, amount);
};

/** Reads the counters of a case. */
export function trafficOf(counters: Float64Array): Traffic {
  const of = (name: Counter) => counters[at(name)] ?? 0;
  return {
    sent: of("sent"),
    received: of("received"),
    requests: of("requests"),
    units: of("units"),
    most: of("most"),
    answer: of("answer"),
  };
}

/** The target of a case, and its counters. */
export type Client = {
  readonly host: string;
  readonly port: number;
  /** The value of the authorization header; empty for an unknown caller. */
  readonly authorization: string;
  readonly counters: Float64Array;
  /** When sending began and ends, by the clock of the thread. */
  readonly since: number;
  readonly until: number;
  /** The most units to send in a second. */
  readonly pace: number;
};

/** Whether the time for sending is over. */
export const isOver = ({ until }: Client): boolean => performance.now() >= until;

/** Waits until the pace allows more. */
export async function paced({ counters, since, pace }: Client): Promise<void> {
  const due = since + ((counters[at("units")] ?? 0) / pace) * 1000;
  const wait = due - performance.now();
  if (wait > 0) await pause(wait);
}

/** Counts a request of so many bytes, or several that share them; the function ends it. */
export function begin({ counters }: Client, bytes: number, requests = 1): (answerBytes?: number) => void {
  const units = Math.max(1, bytes / unitBytes);
  add(counters, "requests", requests);
  add(counters, "units", units);
  add(counters, "current", units);
  raise(counters, "most", counters[at("current")] ?? 0);
  return (answerBytes = 0) => {
    add(counters, "current", -units);
    raise(counters, "answer", answerBytes);
  };
}

/** A TCP connection that counts its bytes. */
export type Wire = Disposable & {
  readonly socket: Socket;
  readonly isClosed: () => boolean;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  /** Writes; waits while the kernel takes no more. */
  readonly write: (bytes: Uint8Array | string) => Promise<void>;
};

// The headers of a segment of TCP over IPv4, which count where many segments carry one byte each.
const segmentBytes = 40;

/** Opens a connection. */
export async function open({ host, port, counters }: Client): Promise<Wire> {
  const socket = connect({ host, port, noDelay: true });
  let over = false;
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => {
      over = true;
      resolve();
    });
  });
  socket.on("error", () => socket.destroy());
  socket.on("data", (part) => add(counters, "received", part.length));
  await Promise.race([once(socket, "connect").catch(() => {}), closed]);
  return {
    socket,
    closed,
    isClosed: () => over,
    async write(bytes) {
      if (over || !socket.writable) return;
      const size = Buffer.byteLength(bytes);
      add(counters, "sent", size < segmentBytes ? size + segmentBytes : size);
      if (!socket.write(bytes)) await Promise.race([once(socket, "drain").catch(() => {}), closed]);
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}
