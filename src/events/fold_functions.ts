import type { Sql } from "../postgres/pool/connect.ts";
import { type Fold, ofType } from "./fold.ts";
import type { StoredAt } from "./position.ts";

/** Makes functions that fold facts within the server, which keeps their plans until the end of the transaction. */
export async function makeFoldFunctions(client: Sql, folds: ReadonlyMap<string, Fold>): Promise<void> {
  await client.unsafe(foldFunction(folds));
  await client.unsafe(batchesFunction);
}

/** Consecutive facts in the log, each about a different object. */
export type Batch = readonly StoredAt[];

/** Folds batches in order, up to one that would violate a unique key, which changes nothing; returns how many were folded. */
export async function foldBatches(client: Sql, batches: readonly Batch[]): Promise<number> {
  const places = batches.flatMap((batch) => {
    const [first, last] = [batch.at(0), batch.at(-1)];
    return first && last ? [{ ...keyOf(first, "first"), ...keyOf(last, "last") }] : [];
  });
  if (places.length === 0) return 0;
  const [row] = await client.unsafe<{ folded: number }[]>("select pg_temp.fold_batches($1::text::jsonb) as folded", [
    JSON.stringify(places),
  ]);
  return row?.folded ?? 0;
}

const keyOf = ({ epoch, xid, position }: StoredAt, name: "first" | "last") => ({
  [`${name}_epoch`]: epoch,
  [`${name}_xid`]: xid,
  [`${name}_position`]: position.toString(),
});

/** Composes the function that folds facts of one type, using the same text as the statement that appends them. */
function foldFunction(folds: ReadonlyMap<string, Fold>): string {
  const branches = [...folds].flatMap(([type, { views = [] }]) => (views.length > 0 ? [branchOf(type, views)] : []));
  return `create function pg_temp.fold(of_type text, given events[]) returns void language plpgsql as $fold$
#variable_conflict use_column
declare
  done integer;
begin
  case of_type
${branches.join("\n")}
  else null;
  end case;
end $fold$`;
}

function branchOf(type: string, views: readonly string[]): string {
  // A replay deletes immediately what a job deletes in batches, so there is just one table of each name.
  const ctes = views.map((text, at) => `"${type}/${at}" as (${ofType(text, type).replace(/\ball_(?=\w)/g, "")})`);
  return `when '${type}' then
    with ${["facts as (select * from unnest(given))", ...ctes].join(",\n")} select 1 into done;`;
}

// The facts of a batch are about different objects, so those of one type are folded together. All batches share one subtransaction, because
// reading a row written by many subtransactions means searching all of them. If the subtransaction fails, the batches before the failing
// one are folded again.
const batchesFunction = `create function pg_temp.fold_batches(batches jsonb, most integer default null) returns integer
language plpgsql as $fold$
declare
  folded integer := 0;
  batch record;
  same record;
begin
  for batch in
    select * from jsonb_to_recordset(batches) as b (first_epoch integer, first_xid xid8, first_position bigint,
      last_epoch integer, last_xid xid8, last_position bigint) limit most
  loop
    for same in
      select e.type, array_agg(e order by e.epoch, e.xid, e.position) as facts from events e
      where (e.epoch, e.xid, e.position) >= (batch.first_epoch, batch.first_xid, batch.first_position)
        and (e.epoch, e.xid, e.position) <= (batch.last_epoch, batch.last_xid, batch.last_position)
      group by e.type order by min(e.position)
    loop
      perform pg_temp.fold(same.type, same.facts);
    end loop;
    folded := folded + 1;
  end loop;
  return folded;
exception when unique_violation then
  return pg_temp.fold_batches(batches, folded);
end $fold$`;
