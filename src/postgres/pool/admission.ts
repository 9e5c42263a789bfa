import { refuse } from "../../errors.ts";
import { currentShares } from "../../security/current_share.ts";
import type { Limiter, QueueEntry } from "../../security/limiter.ts";
import { noShare, type Share } from "../../security/turns.ts";
import { isConnectionsExhausted, isDiskFull, isReadOnly, isSpoiled, markSent, markUnsent } from "../failure.ts";
import type { Client } from "./client.ts";
import { type Admit, failUnsent, isSent, onEnd, type Statement, textOf } from "./driver.ts";
import type { Pool } from "./pool.ts";

/** Callbacks for a statement: when it is sent and when it ends. */
export type Observed = Readonly<{ sent: () => void; ended: (error?: unknown) => void }>;

/** Admits statements to connections. */
export type Gate = Readonly<{
  limiter: Limiter;
  pool: Pool;
  waitMs: number;
  /** The time after which we cancel a statement ourselves, where the server does not. */
  cancelMs: number | undefined;
  readOnly: (() => void) | undefined;
  diskFull: (() => void) | undefined;
  makeRoom: (() => boolean) | undefined;
  observe: ((text: string) => Observed | undefined) | undefined;
}>;

/** Gives each statement a connection of its own as soon as one is free. */
export function admission(gate: Gate): Admit {
  const { limiter, observe, waitMs, cancelMs } = gate;
  return (statement) => {
    const observed = observe?.(textOf(statement));
    const until = performance.now() + waitMs;
    let started = false;
    let client: Client | undefined;
    let timer: NodeJS.Timeout | undefined;
    let isCanceled = false;
    let share = noShare;
    const entry: QueueEntry = {
      start(taken) {
        share = taken;
        client = sendBy(gate, statement, share);
        const sentBy = client;
        if (cancelMs !== undefined)
          timer = setTimeout(() => {
            isCanceled = true;
            sentBy.cancel(statement);
          }, cancelMs);
        if (!started) observed?.sent();
        started = true;
      },
      refuse: () => failUnsent(statement, refuse.because("UNAVAILABLE", { retrySeconds: 1 })),
    };
    onEnd(statement, {
      again(error) {
        clearTimeout(timer);
        if (!client || isSent(statement) || !isConnectionsExhausted(error) || performance.now() > until) return false;
        // An open connection is enough, or one that replaces another pool's.
        if (gate.pool.size() < 2 && !gate.makeRoom?.()) return false;
        gate.pool.drop(client, "unopened");
        client = undefined;
        limiter.retreat(entry, until, share);
        return true;
      },
      // A cancel request also ends the wait for a synchronous standby: the commit is acknowledged, and a failover may lose it.
      distrusted: () => (isCanceled ? canceledLate() : undefined),
      ended(error) {
        clearTimeout(timer);
        if (client) giveBack(gate, client, { sent: isSent(statement), error });
        if (started) observed?.ended(error);
        if (client) limiter.leave(share);
      },
    });
    limiter.enter(entry, currentShares());
  };
}

function sendBy({ pool }: Gate, statement: Statement, share: Share): Client {
  const { client, ready } = pool.take();
  client.askedAt = performance.now();
  if (ready) void ready.then(() => client.send(statement, share));
  else client.send(statement, share);
  return client;
}

function canceledLate(): Error {
  return Object.assign(new Error("canceled, and answered all the same"), { code: "CANCELED_LATE" });
}

type End = Readonly<{ sent: boolean; error: unknown }>;

function giveBack({ pool, readOnly, diskFull }: Gate, client: Client, { sent, error }: End): void {
  client.askedAt = undefined;
  if (error !== undefined && sent) markSent(error);
  if (isReadOnly(error)) {
    pool.renew();
    readOnly?.();
  }
  if (isDiskFull(error)) diskFull?.();
  if (error !== undefined && !sent) {
    markUnsent(error);
    pool.drop(client, "unopened");
  } else if (isSpoiled(error)) pool.drop(client, "spoiled");
  else pool.give(client);
}
