import { setTimeout as pause } from "node:timers/promises";
import { type Hand, NotTaken } from "./collector.ts";
import type { Ended } from "./span.ts";

/** Sends spans to a collector in the background; disposing of it sends those that wait, for a few seconds at most. */
export type Exporter = AsyncDisposable & {
  readonly take: (span: Ended) => void;
  readonly load: () => ExportLoad;
};

/** The numbers of spans that wait, were exported, and were dropped. */
export type ExportLoad = { readonly waiting: number; readonly exported: number; readonly dropped: number };

/** Options of an exporter. */
export type ExporterOptions = {
  readonly hand: Hand;
  /** Called once when the collector begins to fail. */
  readonly onError: (error: unknown) => void;
  readonly everyMs?: number;
  readonly attempts?: number;
  /** The wait before the second try, which doubles with each. */
  readonly pauseMs?: number;
  readonly flushMs?: number;
};

/** The most spans that may wait; further ones are dropped. */
export const mostWaiting = 8_192;

const batchSize = 512;
const timeoutMs = 10_000;
const longestPauseMs = 30_000;

/** Opens an exporter. */
export function openExporter({ hand, onError, ...times }: ExporterOptions): Exporter {
  const { everyMs = 1_000, attempts = 5, pauseMs = 1_000, flushMs = 5_000 } = times;
  const [closing, cut] = [new AbortController(), new AbortController()];
  const queue: Ended[] = [];
  let [exported, dropped, failing] = [0, 0, false];
  let wake = () => {};
  const running = run();

  return {
    take(span) {
      if (queue.length >= mostWaiting || cut.signal.aborted) dropped += 1;
      else if (queue.push(span) === batchSize) wake();
    },
    load: () => ({ waiting: queue.length, exported, dropped }),
    async [Symbol.asyncDispose]() {
      const cutting = setTimeout(() => cut.abort(), flushMs);
      closing.abort();
      wake();
      await running;
      clearTimeout(cutting);
      cut.abort();
    },
  };

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      if (queue.length < batchSize) await nextRound();
      while (queue.length > 0 && !closing.signal.aborted) await deliver(queue.splice(0, batchSize), attempts);
    }
    while (queue.length > 0) await deliver(queue.splice(0, batchSize), 1);
  }

  async function deliver(spans: Ended[], attempts: number): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const error = await handed(spans);
      if (error === undefined) return;
      if (attempt >= attempts || !isWorthAnotherTry(error)) {
        dropped += spans.length;
        return;
      }
      await rest(attempt, error);
      if (closing.signal.aborted) {
        // The spans go back to the queue, for the last try at the end.
        queue.unshift(...spans);
        return;
      }
    }
  }

  /** Sends the spans; returns the error if they were not taken. */
  async function handed(spans: readonly Ended[]): Promise<unknown> {
    try {
      const kept = await hand(spans, AbortSignal.any([cut.signal, AbortSignal.timeout(timeoutMs)]));
      exported += kept;
      dropped += spans.length - kept;
      failing = false;
      return undefined;
    } catch (error) {
      if (!failing) onError(error);
      failing = true;
      return error;
    }
  }

  function rest(attempt: number, error: unknown): Promise<void> {
    const asked = error instanceof NotTaken ? error.retryMs : 0;
    const milliseconds = Math.min(Math.max(asked, pauseMs * 2 ** (attempt - 1)), longestPauseMs);
    return pause(milliseconds, undefined, { signal: closing.signal, ref: false }).catch(() => {});
  }

  function nextRound(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, everyMs).unref();
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }
}

const isWorthAnotherTry = (error: unknown) => !(error instanceof NotTaken && error.permanent);
