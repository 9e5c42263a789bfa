import type { MetadataEntry } from "../../../gen/postern/v1/metadata_pb.ts";
import { refuse, type Violation } from "../../errors.ts";

/** An entry in the form of the tables. */
export type Entry = { readonly key: string; readonly value: string; readonly shared: boolean };

/** The maximum number of entries of a user or an organization, and of the bytes of their keys and values together. */
export const [mostEntries, mostBytes] = [50, 16_384] as const;

/** A table of metadata, and its column for the id of the user or organization. */
type Table = { readonly table: string; readonly id: string };

export const ofUser: Table = { table: "user_metadata", id: "user_id" };
export const ofOrganization: Table = { table: "organization_metadata", id: "organization_id" };

/** SQL for the entries of a user or an organization, ordered by key. */
export const entriesColumn = ({ table, id }: Table, value: string): string =>
  `coalesce((select json_agg(json_build_object('key', m.key, 'value', m.value, 'shared', m.shared) order by m.key) from ${table} m
                 where m.${id} = ${value}), '[]')`;

/** Finds which of the wanted entries change anything; refuses those that exceed the limits. */
export function changesTo(before: readonly Entry[], wanted: readonly MetadataEntry[]): readonly MetadataEntry[] {
  const held = new Map(before.map(({ key, value }) => [key, value]));
  const isShared = new Map(before.map(({ key, shared }) => [key, shared]));
  const isSame = ({ key, value, shared }: MetadataEntry) =>
    held.get(key) === value && (value === undefined || isShared.get(key) === shared);
  const changes = wanted.filter((entry) => !isSame(entry));
  for (const { key, value } of changes) {
    if (value === undefined) held.delete(key);
    else held.set(key, value);
  }
  if (held.size > mostEntries || bytesOf(held) > mostBytes)
    throw refuse.because("METADATA_LIMIT", { params: { entries: String(mostEntries), bytes: String(mostBytes) } });
  return changes;
}

/** Finds keys that are named twice. */
export const repeatedKeys = (entries: readonly MetadataEntry[], path: string): Violation[] =>
  entries.flatMap(({ key }, n) => {
    const earlier = entries.findIndex((one) => one.key === key);
    if (earlier === n) return [];
    const params = { other: `${path}[${earlier}].key` };
    return [{ field: `${path}[${n}].key`, text: "ITEM_REPEATED", params, reason: "REPEATED" }];
  });

function bytesOf(entries: Iterable<readonly [string, string]>): number {
  return [...entries].reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
}

/** SQL for the entries in a fact `f`. An erased one has none. */
const inFact =
  "cross join lateral jsonb_to_recordset(f.payload->'metadata'->'entries') as e (key text, value text, shared boolean)";

const isSharedInFact = "coalesce(e.shared, false)";

/** The statements that set and remove entries. */
export const setEntries = ({ table, id }: Table, columns: string, values: string): readonly string[] => [
  `insert into ${table} (${columns}, key, value, shared)
   select ${values}, e.key, e.value, ${isSharedInFact} from $facts f ${inFact} where e.value is not null
   on conflict (${id}, key) do update set value = excluded.value, shared = excluded.shared`,
  `delete from ${table} t using (
     select f.stream, e.key from $facts f ${inFact} where e.value is null
   ) removed where t.${id} = removed.stream and t.key = removed.key`,
];
