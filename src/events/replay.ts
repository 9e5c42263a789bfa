import type { Sql } from "../postgres/pool/connect.ts";
import { foldBatches } from "./fold_functions.ts";
import type { StoredAt } from "./position.ts";
import type { Rewrite } from "./rewrite.ts";

/** A fact in the log, its type, and the object that it is about. */
type Entry = StoredAt & { readonly stream: string; readonly type: string };

/** How to replay the log: the types of facts that share a batch with no others, and how tables are rewritten. */
export type Replaying = { readonly crossNoun: ReadonlySet<string>; readonly rewrite: Rewrite };

/** Replays the log in order, using the functions of this transaction. */
export async function replay(client: Sql, { crossNoun, rewrite }: Replaying): Promise<void> {
  let late: readonly Entry[] = [];
  let entries: readonly Entry[] = await entriesAfter(client, first);
  for (let [head] = entries; head; [head] = entries) {
    const batches = batchesOf(entries, { late, crossNoun });
    const folded = await foldBatches(client, batches);
    const failed = batches[folded] ?? [];
    // A fact waits if an earlier fact about its object waits.
    const waiting = batches.length > 0 ? await foldApart(client, failed) : [head];
    late = await foldLate(client, [...late, ...waiting]);
    const count = batches.slice(0, folded + 1).flat().length || 1;
    await rewrite(count);
    const rest = entries.slice(count);
    entries = rest.length > 0 ? rest : await entriesAfter(client, entries.at(-1) ?? head);
  }
}

type Cut = { readonly late: readonly Entry[]; readonly crossNoun: ReadonlySet<string> };

/**
 * Cuts entries into batches of different objects. While some are waiting there is just one batch, up to the next fact that must wait too.
 */
function batchesOf(entries: readonly Entry[], { late, crossNoun }: Cut): readonly (readonly Entry[])[] {
  const waiting = new Set(late.map(({ stream }) => stream));
  const batches: Entry[][] = [];
  let batch: Entry[] = [];
  let seen = new Set<string>();
  // A batch is folded type by type, so a fact that affects other objects shares it only with facts of its own type.
  const isApart = (entry: Entry) => {
    const before = batch.at(-1)?.type ?? entry.type;
    return before !== entry.type && (crossNoun.has(before) || crossNoun.has(entry.type));
  };
  for (const entry of entries) {
    if (waiting.has(entry.stream)) break;
    if (batch.length === 0 || batch.length === largestBatch || seen.has(entry.stream) || isApart(entry)) {
      batch = [];
      batches.push(batch);
      seen = new Set();
    }
    seen.add(entry.stream);
    batch.push(entry);
  }
  return late.length > 0 ? batches.slice(0, 1) : batches;
}

/** Folds the halves of a batch that failed as a whole because a name moves between its objects; returns what must wait. */
async function foldApart(client: Sql, failed: readonly Entry[]): Promise<readonly Entry[]> {
  if (failed.length <= 1) return failed;
  const half = failed.length >> 1;
  const waiting: Entry[] = [];
  for (const part of [failed.slice(0, half), failed.slice(half)])
    if ((await foldBatches(client, [part])) === 0) waiting.push(...(await foldApart(client, part)));
  return waiting;
}

// In the log, the event that takes a name may precede the one that frees it, although it was committed later.
async function foldLate(client: Sql, late: readonly Entry[]): Promise<readonly Entry[]> {
  const still: Entry[] = [];
  for (const entry of late) {
    const waits = still.some(({ stream }) => stream === entry.stream);
    if (waits || (await foldBatches(client, [[entry]])) === 0) still.push(entry);
  }
  return still;
}

const first: StoredAt = { epoch: 0, xid: "0", position: 0n };
const stretch = 1_000;
// The server keeps a batch's facts in memory, with payloads as large as messages may be.
const largestBatch = 200;

const entriesAfter = (client: Sql, { epoch, xid, position }: StoredAt) => client<Entry[]>`
  select epoch, xid::text as xid, position, owner || '/' || stream as stream, type from events
  where (events.epoch, events.xid, events.position) > (${epoch}::integer, ${xid}::text::xid8, ${position}::bigint)
  order by events.epoch, events.xid, events.position limit ${stretch}`;
