import type { Sql } from "../postgres/pool/connect.ts";
import { type FactKey, foldBatches } from "./fold_functions.ts";
import { endOfLog, isHeld } from "./follow.ts";
import { unnumberedOf } from "./numbering.ts";
import { beginning, type Position } from "./position.ts";

/** A fact in the log, its type, and the object that it is about. */
type Entry = FactKey & { readonly stream: string; readonly type: string };

/** The progress of a replay: the number of the last event replayed, and of the last in the log. */
export type Replayed = { readonly at: bigint; readonly of: bigint };

/** The progress of a replay, stored beside its tables, with the facts that wait for a name. */
type Progress = { readonly at: Position; readonly late: readonly Entry[] };

/** A replay of the log whose steps run in transactions of their own. */
export type Replay = {
  /** Records that the tables are new. */
  readonly begin: (fingerprint: string) => Promise<void>;
  /** Replays the next stretch; returns the number of its last event. */
  readonly step: () => Promise<bigint>;
  /** Replays everything that the transaction sees, including events without a number. */
  readonly finish: () => Promise<void>;
};

/** Opens a replay in transactions in which `replay_progress` is found; facts of the types `crossNoun` share a batch with no others. */
export function openReplay(client: Sql, crossNoun: ReadonlySet<string>): Replay {
  const step = async (): Promise<bigint> => {
    const { at, late } = await progressOf(client);
    const end = await endOfLog(client);
    const numbers = await numbersAfter(client, at.number);
    // The last events may be deleted.
    const last = numbers.at(-1) ?? { number: String(end.number) };
    const waiting = await replay(client, { entries: numbers.filter(isThere), late, crossNoun });
    await client`
      update replay_progress set number = ${last.number}, late = ${JSON.stringify(waiting)},
        batch = (select b.id from event_batches b where b.first <= ${last.number} order by b.first desc limit 1)`;
    return BigInt(last.number);
  };
  return {
    async begin(fingerprint) {
      await client`create unlogged table replay_progress (fingerprint text, number bigint, batch text, late text)`;
      await client`insert into replay_progress values (${fingerprint}, ${beginning.number}, ${beginning.batch}, '[]')`;
    },
    step,
    async finish() {
      const { number: end } = await endOfLog(client);
      while ((await step()) < end);
      const { late } = await progressOf(client);
      await replay(client, { entries: await entriesWithoutNumber(client), late, crossNoun });
    },
  };
}

/** Whether the replay in the tables was begun in the same way, and the log still has the events that it has read. */
export async function goesOn(client: Sql, fingerprint: string): Promise<boolean> {
  const [row] = await client<(Position & { fingerprint: string })[]>`
    select fingerprint, number, batch from replay_progress`;
  // A crash of the server empties this table, like all unlogged tables.
  return row?.fingerprint === fingerprint && (await isHeld(client, row));
}

/** Reads the progress of the replay, and keeps other processes from continuing it until the transaction ends. */
async function progressOf(client: Sql): Promise<Progress> {
  const [row] = await client<(Position & { late: string })[]>`
    select number, batch, late from replay_progress for update nowait`;
  if (!row) throw new TypeError("the replay has no progress");
  return { at: row, late: JSON.parse(row.late) };
}

type Stretch = {
  readonly entries: readonly Entry[];
  readonly late: readonly Entry[];
  readonly crossNoun: ReadonlySet<string>;
};

/** Replays entries in order; returns those that wait for a name. */
async function replay(client: Sql, { entries, late, crossNoun }: Stretch): Promise<readonly Entry[]> {
  let waiting = late;
  let rest = entries;
  for (let [head] = rest; head; [head] = rest) {
    const batches = batchesOf(rest, { late: waiting, crossNoun });
    const folded = await foldBatches(client, batches);
    const failed = batches[folded] ?? [];
    // A fact waits if an earlier fact about its object waits.
    const apart = batches.length > 0 ? await foldApart(client, failed) : [head];
    waiting = await foldLate(client, [...waiting, ...apart]);
    rest = rest.slice(batches.slice(0, folded + 1).flat().length || 1);
  }
  return waiting;
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

/** Folds the halves of a batch that failed as a whole because a name moves between its objects; returns the facts that must wait. */
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

// A step is one transaction.
const stretch = 1_000;
// The server keeps a batch's facts in memory, with payloads as large as messages may be.
const largestBatch = 200;

/** The next numbers, with their events unless those have been deleted. */
const numbersAfter = (client: Sql, number: bigint) => client<(Partial<Entry> & { number: string })[]>`
  select n.number::text as number, e.epoch, e.xid::text as xid, e.position::text as position,
    e.owner || '/' || e.stream as stream, e.type
  from (select * from event_numbers where number > ${number} order by number limit ${stretch}) n
    left join events e on e.epoch = n.epoch and e.xid = n.xid and e.position = n.position
  order by n.number`;

const isThere = (one: Partial<Entry> & { number: string }): one is Entry & { number: string } =>
  typeof one.type === "string";

const entriesWithoutNumber = (client: Sql) => client<Entry[]>`
  select epoch, xid::text as xid, position::text as position, owner || '/' || stream as stream, type
  from (${unnumberedOf(client)}) e order by e.epoch, e.xid, e.position`;
