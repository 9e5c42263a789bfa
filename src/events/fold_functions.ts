import type { Sql } from "../postgres/pool/connect.ts";
import { type Fold, ofType } from "./fold.ts";

/** The key of a fact in the log. */
export type FactKey = { readonly epoch: number; readonly xid: string; readonly position: string };

/** Consecutive facts in the log, each about a different object. */
export type Batch = readonly FactKey[];

/** The statements that create, in a schema, functions that fold facts within the server, which keeps their plans. */
export const foldFunctions = (schema: string, folds: ReadonlyMap<string, Fold>): readonly string[] => [
  foldFunction(schema, folds),
  batchesFunction(schema),
];

/** Folds batches in order, up to one that would violate a unique key, which changes nothing; returns how many were folded. */
export async function foldBatches(client: Sql, batches: readonly Batch[]): Promise<number> {
  if (batches.length === 0) return 0;
  const keys = batches.map((batch) => batch.map(({ epoch, xid, position }) => [epoch, xid, position]));
  const [row] = await client<{ folded: number }[]>`select fold_batches(${JSON.stringify(keys)}::text::jsonb) as folded`;
  return row?.folded ?? 0;
}

/** Composes the function that folds facts of one type, using the same text as the statement that appends them. */
function foldFunction(schema: string, folds: ReadonlyMap<string, Fold>): string {
  const branches = [...folds].flatMap(([type, { views = [] }]) => (views.length > 0 ? [branchOf(type, views)] : []));
  return `create function ${schema}.fold(of_type text, given events[]) returns void language plpgsql as $fold$
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
  // A replay deletes immediately what a job deletes in batches, so there is only one table of each name.
  const ctes = views.map((text, at) => `"${type}/${at}" as (${ofType(text, type).replace(/\ball_(?=\w)/g, "")})`);
  return `when '${type}' then
    with ${["facts as (select * from unnest(given))", ...ctes].join(",\n")} select 1 into done;`;
}

// The facts of a batch are about different objects, so those of one type are folded together. All batches share one subtransaction, because
// reading a row written by many subtransactions means searching all of them. If the subtransaction fails, the batches before the failing
// one are folded again.
const batchesFunction = (schema: string): string => `
create function ${schema}.fold_batches(batches jsonb, most integer default null) returns integer
language plpgsql as $fold$
declare
  folded integer := 0;
  batch jsonb;
  same record;
begin
  for batch in select b from jsonb_array_elements(batches) b limit most loop
    for same in
      select e.type, array_agg(e order by k.at) as facts
      from (
        select (fact->>0)::integer as epoch, (fact->>1)::xid8 as xid, (fact->>2)::bigint as position, at
        from jsonb_array_elements(batch) with ordinality f (fact, at)
      ) k join events e on e.epoch = k.epoch and e.xid = k.xid and e.position = k.position
      group by e.type order by min(k.at)
    loop
      perform ${schema}.fold(same.type, same.facts);
    end loop;
    folded := folded + 1;
  end loop;
  return folded;
exception when unique_violation then
  return ${schema}.fold_batches(batches, folded);
end $fold$`;
