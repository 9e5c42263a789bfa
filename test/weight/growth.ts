import { mostRead } from "../../src/services/reading/page.ts";
import type { Weighed } from "./everything.ts";

/** A statement of a call that reads more blocks on much data than its answer explains. */
export type Growth = {
  readonly call: string;
  readonly text: string;
  readonly small: number;
  readonly large: number;
  readonly most: number;
};

// An index of a million entries is two levels higher than one of ten thousand at most.
const [higher, swing] = [2, 12];
// A candidate costs its entry, its row and the words of it, and what a filter looks up in one other table.
export const ofOneCandidate = 8;

// The log is read whenever something comes, so with which call is a matter of time.
const readsLog = (text: string) => /event_numbers|event_batches|number_events/.test(text);

/** The statements that grow faster than their answers, which are as long on much data as on little: the calls are the same ones. */
export function growthOf(small: readonly Weighed[], large: readonly Weighed[]): Growth[] {
  return large.flatMap(({ operationId, request, intersects, weights }, at) => {
    const before = new Map(small[at]?.weights.map((one) => [one.text, one.blocks]));
    return weights.flatMap(({ text, blocks, descents }) => {
      // What the service does by itself comes now and then.
      const least = before.get(text);
      if (least === undefined || (readsLog(text) && !operationId.includes("WatchEvents"))) return [];
      const most = Math.max(least + higher * descents + swing, intersects ? mostRead * ofOneCandidate : 0);
      const call = `${operationId} ${JSON.stringify(request)}`;
      return blocks > most ? [{ call, text, small: least, large: blocks, most }] : [];
    });
  });
}
