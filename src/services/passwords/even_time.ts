import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../postgres/pool/connect.ts";

/** How long to remember whether any imported hashes exist. */
const rememberedMs = 10_000;

// The cost limits of imported hashes keep a check under half a second, so on a machine with spare capacity every failure falls into the
// first step.
const stepMs = 1_000;

/**
 * As long as any user has an imported hash, failed sign-ins are answered at fixed steps of time: checking such a hash takes a different
 * time from ours, which would reveal that a login name exists. Waiting takes no CPU and no slot in the hash queue.
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
