import { Worker } from "node:worker_threads";

/** One call that is sent again and again. */
export type Shot = {
  readonly path: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly http: "1" | "2";
  /** How many bytes the body of a right answer has, where that is known. */
  readonly answerBytes?: number;
};

/**
 * The calls of a load: the bytes of each by its number, whole for HTTP/1.1, or the fields of all and the body of each. Whether an
 * answer is right is seen from the whole response of HTTP/1.1, and from the body of one of HTTP/2; where the calls do not look, status
 * 200 is right, and any body.
 */
export type Calls =
  | {
      readonly http: "1";
      /** The first request of a call; callers have numbers of their own, since each has its connection. */
      readonly bytes: (n: number, caller: number) => string | Buffer;
      /** The further requests of a call that takes several ones; a response that is wrong makes none, and ends it. */
      readonly further?: readonly Further[];
      /** Looks at the last response. */
      readonly isRight?: Check;
    }
  | {
      readonly http: "2";
      readonly fields: Readonly<Record<string, string>>;
      readonly body: (n: number) => Uint8Array;
      readonly isRight?: (body: Buffer, n: number) => boolean;
    };

/** Makes the next request of a call of the response to the one before. */
export type Further = (response: string, n: number, caller: number) => string | undefined;

/** Whether a response is right. */
export type Check = (response: string, n: number, caller: number) => boolean;

/** One and the same call, or calls that differ: a module that exports `callsOf`, and what it makes them of. */
export type What =
  | { readonly shot: Shot }
  | { readonly source: { readonly module: string; readonly options: unknown } };

/** Makes the calls of a load to a server. */
export type CallsOf = (options: unknown, url: string) => Calls;

/** A load: calls, target, number of callers, and duration. */
export type Load = What & {
  readonly url: string;
  readonly callers: number;
  readonly seconds: number;
  /** The seconds before calls count. */
  readonly settle?: number;
  /** The pause of each caller between calls, if any. */
  readonly everyMs?: number;
  /** The number of the first call, and how many there are at most. */
  readonly from: number;
  readonly calls?: number;
};

/** The outcome of a load; times in milliseconds. */
export type LoadOutcome = {
  readonly calls: number;
  readonly refused: number;
  /** All granted calls, including those that do not count. */
  readonly granted: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** The number that the next load may begin with. */
  readonly next: number;
};

/** Sends calls from a thread of its own, each caller one after the other. */
export async function generate(load: Load): Promise<LoadOutcome> {
  const [outcome] = await together([load]);
  if (!outcome) throw new Error("a load has no outcome");
  return outcome;
}

/** The same for several loads at once, all from one thread. */
export function together(loads: readonly Load[]): Promise<LoadOutcome[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: loads });
    worker.on("message", resolve);
    worker.on("error", reject);
    worker.on("exit", () => reject(new Error("a load ended without an outcome")));
  });
}
