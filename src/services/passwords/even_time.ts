import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../postgres/pool/connect.ts";

/** How long it is remembered whether there are imported hashes. */
const rememberedMs = 10_000;

// The ceilings of imported hashes keep a check at half a second, so all failures fall into the first step on a machine with room.
const stepMs = 1_000;

/**
 * Answers failed sign-ins in steps of time while any user has an imported hash: a check of one takes another time than ours, and
 * would show that a login name exists. A step is waited for without work, so it takes no room in the queue of hashes.
 */
export function evenTime(sql: Sql) {
  const anyImported = remembered(() => hasImported(sql));
  return async <T extends { readonly is: string }>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    const outcome = await attempt();
    if (outcome.is !== "right" && (await anyImported()))
      await pause(untilStepMs(performance.now() - began), undefined, { signal });
    return outcome;
  };
}

/** The milliseconds until the next step ends. */
export const untilStepMs = (elapsedMs: number): number => stepMs - (elapsedMs % stepMs);

function remembered(read: () => Promise<boolean>) {
  let known: Promise<boolean> | undefined;
  let since = 0;
  return (): Promise<boolean> => {
    if (known && performance.now() - since < rememberedMs) return known;
    since = performance.now();
    const reading = read();
    known = reading;
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    return reading;
  };
}

async function hasImported(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ imported: boolean }[]>`
    select exists (select from passwords where imported) as imported`;
  return row?.imported ?? false;
}
