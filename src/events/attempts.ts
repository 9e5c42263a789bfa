import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { constraintOf } from "../errors.ts";
import { isRefusedForValues } from "../postgres/failure.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { type Attempted, attemptPlaces, minuteOf, reserve } from "./attempt_places.ts";
import { type FactInit, factOf, first, type NewFact, typeOf } from "./fact.ts";
import type { Log } from "./log.ts";
import { isRecorded } from "./overtaken.ts";

/** The user whom an attempt is about; undefined if it is about nobody. */
export type About = { readonly owner: string; readonly id: string } | undefined;

/** Notes an attempt: in memory, without waiting for anything. */
export type NoteAttempt<C> = (attempt: FactInit<"attempt">, about: About, call: C) => void;

export type Attempts<C> = {
  readonly note: NoteAttempt<C>;
  /** Writes the events of the noted attempts; with `all`, the counts of the current minute too. */
  readonly write: (all?: boolean) => Promise<void>;
};

export type AttemptsOptions<C> = {
  readonly log: Log<C>;
  readonly sql: Sql;
  readonly clock: () => Date;
  readonly ids: () => string;
  readonly instanceId: string;
  /** The part of a call that is kept until its attempt is written. */
  readonly keep: (call: C) => C;
  /** Makes the call that writes counts. */
  readonly own: () => C;
};

/** An event to write, whose id stays the same in every try. */
type Written<C> = { readonly fact: NewFact; readonly call: C; readonly of?: Attempted };

type Noted<C> = Written<C> & { readonly of: Attempted; readonly minute: number };

// The maximum number that a node holds while the database does not accept them.
const mostNoted = 100;

/**
 * Collects attempts and writes them in the background, so that a caller who guesses passwords neither waits for them nor makes others wait.
 * In a minute, a limited number becomes events; the others are counted.
 */
export function attemptsOf<C>({ log, sql, clock, ids, instanceId, keep, own }: AttemptsOptions<C>): Attempts<C> {
  const places = attemptPlaces();
  const more = moreOf(instanceId);
  let noted: Noted<C>[] = [];
  let written: readonly Written<C>[] = [];

  return {
    note(attempt, about, call) {
      const now = clock();
      const of = { owner: about?.owner ?? instanceId, userId: about?.id ?? "", type: typeOf("attempt", attempt.case) };
      const hasRoom = noted.length + written.length < mostNoted;
      if (!hasRoom || !places.take(of, now)) {
        more.count(of, { isOfUser: places.isUserFull(of), now });
        return;
      }
      const value = { ...attempt.value, ...(about ? { userId: about.id } : {}) };
      const fact = factOf("attempt", first(of.owner, ids(), now), { ...attempt, value } as FactInit<"attempt">);
      noted.push({ fact, of, minute: minuteOf(now), call: keep(call) });
    },

    async write(all = false) {
      await reserveNoted();
      const refused = await append();
      const due = more.due(clock(), all);
      written = [...written, ...due.map(({ owner, value }) => ({ fact: moreFact(owner, value), call: own() }))];
      refused.push(...(await append()));
      if (refused.length > 0) throw refused[0];
    },
  };

  /** Requests places across all nodes for the noted attempts; those without one are counted. */
  async function reserveNoted(): Promise<void> {
    for (let [next] = noted; next; [next] = noted) {
      const { minute } = next;
      const asking = noted.filter((one) => one.minute === minute);
      const { granted, taken } = await reserve(sql, minute, asking);
      places.learn(minute, taken);
      noted = noted.filter((one) => !asking.includes(one));
      written = [...written, ...granted];
      const now = clock();
      for (const one of asking)
        if (!granted.includes(one)) more.count(one.of, { isOfUser: places.isUserFull(one.of), now });
    }
  }

  /**
   * Writes the events, and keeps those that the database does not accept at the moment. An event that it would never accept is only
   * counted; returns the errors of these.
   */
  async function append(): Promise<unknown[]> {
    const trying = written;
    const outcomes = await Promise.allSettled(trying.map(({ fact, call }) => log.append(call, [fact], true)));
    // An event that is there was written by an earlier try whose response was lost.
    const failed = trying.flatMap((one, nth) => {
      const outcome = outcomes[nth];
      return outcome?.status === "rejected" && !isRecorded(outcome.reason) ? [{ one, error: outcome.reason }] : [];
    });
    const [refused, later] = [failed.filter(isHopeless), failed.filter((one) => !isHopeless(one))];
    written = later.map(({ one }) => one);
    for (const {
      one: { of },
    } of refused)
      if (of) more.count(of, { isOfUser: places.isUserFull(of), now: clock() });
    if (later[0]) throw later[0].error;
    return refused.map(({ error }) => error);
  }

  function moreFact(owner: string, value: MoreValue): NewFact {
    return factOf("attempt", first(owner, ids(), clock()), { case: "more", value });
  }
}

const isHopeless = ({ error }: { readonly error: unknown }): boolean => {
  const constraint = constraintOf(error);
  return isRefusedForValues(error) || (constraint !== undefined && constraint !== "lock");
};

type MoreValue = Extract<FactInit<"attempt">, { case: "more" }>["value"];

type Counted = Pick<Attempted, "owner" | "userId"> & { readonly since: Date; readonly counts: Map<string, number> };

type Counting = { readonly isOfUser: boolean; readonly now: Date };

// If there are more organizations at once, the rest is counted for the instance.
const mostCounts = 200;

/** Counts attempts that get no event of their own: by user if the user's places are taken, otherwise by organization. */
function moreOf(instanceId: string) {
  const counted = new Map<string, Counted>();

  return {
    count({ owner, userId, type }: Attempted, { isOfUser, now }: Counting): void {
      const { counts } = isOfUser ? of(owner, userId, now) : of(owner, "", now);
      counts.set(type, (counts.get(type) ?? 0) + 1);
    },

    /** Takes the counts of minutes that are over, or all of them. */
    due(now: Date, all: boolean) {
      const minute = minuteOf(now);
      const over = [...counted].filter(([, { since }]) => all || minuteOf(since) < minute);
      for (const [key] of over) counted.delete(key);
      return over.map(([, one]) => ({ owner: one.owner, value: moreValue(one) }));
    },
  };

  function of(owner: string, userId: string, now: Date): Counted {
    const key = `${owner}/${userId}`;
    const known = counted.get(key);
    if (known) return known;
    if (counted.size >= mostCounts && key !== `${instanceId}/`) return of(instanceId, "", now);
    const made = { owner, userId, since: now, counts: new Map<string, number>() };
    counted.set(key, made);
    return made;
  }
}

const moreValue = ({ userId, since, counts }: Counted): MoreValue => ({
  ...(userId === "" ? {} : { userId }),
  since: timestampFromDate(since),
  counts: [...counts].map(([type, count]) => ({ type, count: BigInt(count) })),
});
