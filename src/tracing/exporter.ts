import { setTimeout as pause } from "node:timers/promises";
import { type Hand, NotTaken } from "./collector.ts";
import type { Ended } from "./span.ts";

/** Sends spans to a collector in the background; disposing of it sends the waiting ones, for a few seconds at most. */
export type Exporter = AsyncDisposable & {
  readonly take: (span: Ended) => void;
  readonly load: () => ExportLoad;
};

/** The numbers of spans waiting, exported and dropped. */
export type ExportLoad = { readonly waiting: number; readonly exported: number; readonly dropped: number };

export type ExporterOptions = {
  readonly hand: Hand;
  /** Called once when the collector begins to fail. */
  readonly onError: (error: unknown) => void;
  readonly everyMs?: number;
  readonly attempts?: number;
  /** The wait before the second attempt, which doubles with each further one. */
  readonly pauseMs?: number;
  readonly flushMs?: number;
};

/** The maximum number of waiting spans; further ones are dropped. */
export const mostWaiting = 8_192;

const batchSize = 512;
const timeoutMs = 10_000;
const longestPauseMs = 30_000;

export function openExporter({ hand, onError, ...times }: ExporterOptions): Exporter {
  const { everyMs = 1_000, attempts = 5, pauseMs = 1_000, flushMs = 5_000 } = times;
  const [closing, cut] = [new AbortController(), new AbortController()];
  const queue: Ended[] = [];
  const counts = { exported: 0, dropped: 0 };
  const handed = counting(hand, { counts, onError, signal: cut.signal });
  let wake = () => {};
  const running = run();

  return {
    take(span) {
      if (queue.length >= mostWaiting || cut.signal.aborted) counts.dropped += 1;
      else if (queue.push(span) === batchSize) wake();
    },
    load: () => ({ waiting: queue.length, ...counts }),
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
        counts.dropped += spans.length;
        return;
      }
      const signal = closing.signal;
      await pause(restMs(pauseMs, attempt, error), undefined, { signal, ref: false }).catch(() => {});
      // The spans go back to the queue, for one last attempt at the end.
      if (signal.aborted) return void queue.unshift(...spans);
    }
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

type Counting = Pick<ExporterOptions, "onError"> & {
  readonly counts: { exported: number; dropped: number };
  readonly signal: AbortSignal;
};

/** Makes the function that sends spans and counts them. It returns the error if they were not accepted, and reports the first one. */
function counting(hand: Hand, { counts, onError, signal }: Counting) {
  let failing = false;
  return async (spans: readonly Ended[]): Promise<unknown> => {
    try {
      const kept = await hand(spans, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
      counts.exported += kept;
      counts.dropped += spans.length - kept;
      failing = false;
      return undefined;
    } catch (error) {
      if (!failing) onError(error);
      failing = true;
      return error;
    }
  };
}

/** The wait before the next attempt, at least as long as the collector asks for. */
function restMs(pauseMs: number, attempt: number, error: unknown): number {
  const asked = error instanceof NotTaken ? error.retryMs : 0;
  return Math.min(Math.max(asked, pauseMs * 2 ** (attempt - 1)), longestPauseMs);
}

const isWorthAnotherTry = (error: unknown) => !(error instanceof NotTaken && error.permanent);
