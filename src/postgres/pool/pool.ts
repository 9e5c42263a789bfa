import { setTimeout as sleep } from "node:timers/promises";
import { type Client, isOpen } from "./client.ts";

/** A client for one statement; wait for `ready` first, if its connection has to wait before it is opened. */
export type Taken = Readonly<{ client: Client; ready: Promise<void> | undefined }>;

/** Connections, each for one statement at a time. */
export type Pool = Readonly<{
  /** Takes an idle connection, or a new one; the caller ensures that no more than `most` are taken. */
  take: () => Taken;
  /** Returns a connection to the pool after its statement. */
  give: (client: Client) => void;
  /** Discards a connection that could not be opened, or that no statement should use again. */
  drop: (client: Client, failure: "unopened" | "spoiled") => void;
  /** Discards each connection that was opened before now, once its statement has ended; by default only those half a second old. */
  renew: (ageMs?: number) => void;
  /** Ends an idle connection, so that another pool has room; returns whether there was one. */
  shrink: () => boolean;
  size: () => number;
  close: () => Promise<void>;
}>;

/** Options of a pool. */
export type PoolOptions = Readonly<{
  most: number;
  make: (closed: (client: Client) => void) => Client;
  /** All connections. */
  clients: Set<Client>;
}>;

// A younger connection is considered current: at a read-only database each is opened at most twice a second.
const youthMs = 500;

/** Makes a pool; connections are opened when first needed. */
export function createPool({ most, make, clients }: PoolOptions): Pool {
  // The last one used comes first: the caches of its process are worth more than half the cost of a lone statement.
  const idle: Client[] = [];
  const ending = new Set<Promise<void>>();
  let renewedAt = Number.NEGATIVE_INFINITY;
  let dialAt = 0;

  return {
    take() {
      for (let client = idle.pop(); client; client = idle.pop()) {
        if (isUsable(client)) return { client, ready: undefined };
        end(client);
      }
      const ready = turnToDial();
      const client = make(forget);
      clients.add(client);
      return { client, ready };
    },
    give,
    drop(client, failure) {
      // The rate of connecting must not follow the rate of requests.
      if (failure === "unopened") dialAt = performance.now() + 50 + Math.random() * 50;
      end(client);
    },
    renew(ageMs = youthMs) {
      renewedAt = performance.now() - ageMs;
      for (const client of idle.splice(0)) give(client);
    },
    shrink() {
      const client = idle.shift();
      if (!client) return false;
      end(client);
      return true;
    },
    size: () => clients.size,
    async close() {
      for (const client of clients) end(client);
      await Promise.all(ending);
    },
  };

  function give(client: Client): void {
    if (isUsable(client)) idle.push(client);
    else end(client);
  }

  function isUsable(client: Client): boolean {
    return isOpen(client) && !client.isAside && client.madeAt >= renewedAt && client.expiresAt > performance.now();
  }

  function forget(client: Client): void {
    const at = idle.indexOf(client);
    if (at < 0) return;
    idle.splice(at, 1);
    clients.delete(client);
  }

  function end(client: Client): void {
    clients.delete(client);
    const ended: Promise<void> = client.end().finally(() => ending.delete(ended));
    ending.add(ended);
  }

  /** Waits until a connection may be opened; the server counts a connection until it has ended. */
  function turnToDial(): Promise<void> | undefined {
    const pauseMs = dialAt - performance.now();
    const full = clients.size + ending.size >= most;
    if (pauseMs <= 0 && !full) return undefined;
    return Promise.all([pauseMs > 0 && sleep(pauseMs), full && Promise.all(ending)]).then(() => {});
  }
}
