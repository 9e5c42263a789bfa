import { type DescField, getOption } from "@bufbuild/protobuf";
import { FactSchema } from "../../gen/postern/v1/event_pb.ts";
import { ends, lifetime, Retention } from "../../gen/postern/v1/options_pb.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { personalFields } from "./personal.ts";
import type { Chore } from "./sweep.ts";

/** The contract's statements about the events of a kind, for the function of the database that deletes them. */
export type Expiring = {
  /** The types of the last event of an object. */
  readonly ends: readonly string[];
  /** The field of an object's first event with its expiry, by noun. */
  readonly expires: Readonly<Record<string, string>>;
  /** The nouns of objects that end with their user, even without an event of their own. */
  readonly withUser: readonly string[];
  /** The nouns whose older events lose the personal fields of the origin. */
  readonly blanks: readonly string[];
  /** The personal fields of an origin. */
  readonly origin: readonly string[];
};

/** The kinds of events that a retention policy tells apart, by their names in the database. */
export const expiring: Readonly<Record<"administration" | "sign_in", Expiring>> = {
  administration: expiringOf([Retention.ADMINISTRATION, Retention.ALWAYS]),
  sign_in: expiringOf([Retention.SIGN_IN]),
};

function expiringOf(retentions: readonly Retention[]): Expiring {
  const nouns = FactSchema.fields.filter((noun) => retentions.includes(getOption(noun, lifetime).retention));
  const withExpiry = nouns.filter((noun) => getOption(noun, lifetime).expires);
  return {
    ends: nouns.flatMap((noun) => endsOf(noun).map(({ name }) => `${noun.name}.${name}`)),
    expires: Object.fromEntries(withExpiry.map((noun) => [noun.name, expiryOf(noun)])),
    withUser: nouns.filter((noun) => getOption(noun, lifetime).endsWithUser).map(({ name }) => name),
    // An object that expires keeps its origin for as long as it exists.
    blanks: nouns.filter((noun) => !withExpiry.includes(noun)).map(({ name }) => name),
    origin: personalFields().origin ?? [],
  };
}

function endsOf(noun: DescField): readonly DescField[] {
  return (noun.message?.fields ?? []).filter((fact) => getOption(fact, ends));
}

/** The JSON name of the field in the first fact about an object. */
function expiryOf(noun: DescField): string {
  const { expires } = getOption(noun, lifetime);
  const field = noun.message?.fields[0]?.message?.fields.find(({ name }) => name === expires);
  if (!field) throw new Error(`the first event of ${noun.name} has no field ${expires}`);
  return field.jsonName;
}

/** Deletes the events that the instance's retention policy no longer keeps. */
export const expiredEvents = (sql: Sql, clock: () => Date): readonly Chore[] =>
  Object.entries(expiring).map(([kind, contract]) => ({
    name: `events of kind ${kind}`,
    batch: (most) => expire(sql, { kind, contract: JSON.stringify(contract), now: clock(), most }),
  }));

type Expire = { readonly kind: string; readonly contract: string; readonly now: Date; readonly most: number };

/** Searches a stretch of the log; returns `most` if there is more to do. */
async function expire(sql: Sql, { kind, contract, now, most }: Expire): Promise<number> {
  const [row] = await sql<{ examined: number; gone: number }[]>`
    select examined, gone from expire_events(${kind}, ${contract}::text::jsonb, ${now}, ${most})`;
  return Math.max(row?.examined ?? 0, row?.gone ?? 0);
}

/** The progress of the deletion of a kind of events. */
export type RetentionHealth = {
  readonly kind: keyof typeof expiring;
  /** The days of the policy in force; null if every event is kept. */
  readonly days: number | null;
  /** The number of events of the kind deleted so far. */
  readonly deleted: bigint;
  /** The number of seconds for which the oldest event to examine, or object to delete, has been past its days; 0 if there is none. */
  readonly behindSeconds: number;
};

/** Reads the progress of the deletion of events, by kind. */
export async function retentionHealth(sql: Sql): Promise<readonly RetentionHealth[]> {
  return await sql<RetentionHealth[]>`
    select k.kind, k.days, k.deleted, coalesce(greatest(0, extract(epoch from k.old - least(walk.time, wait.until))), 0)::float8 as "behindSeconds"
    from (
      select r.kind, r.time, r.position, r.deleted, d.days, now() - make_interval(days => d.days) as old
      from retention_progress r left join lateral (
        select case r.kind when 'sign_in' then p.sign_in_days else p.administration_days end as days
        from retention_policies p join instance i on i.instance_id = p.owner) d on true
    ) k
    left join lateral (
      select e.time from events e where (e.time, e.position) > (k.time, k.position) and e.time < k.old
      order by e.time, e.position limit 1) walk on true
    left join lateral (
      select w.until from retention_waits w where w.kind = k.kind and w.until < k.old order by w.until limit 1) wait on true
    order by k.kind desc`;
}
