import type { JsonValue } from "@bufbuild/protobuf";
import { type FactCase, type FactNoun, typeOf } from "./fact.ts";

/** Facts about other objects that result from a fact, made by the statement that appends it. */
export type Cascade = {
  /** Their type, such as `user_grant.removed`. */
  readonly makes: string;
  /** A select from `$input` i (the facts being appended) and views that yields i.n, owner, stream, version, payload. */
  readonly select: string;
  /**
   * How many facts it may make: `few`, as many as a user has sessions, or `many`, as many as others add to an object. Statements that may
   * write many have their own connections, so that the others do not wait for them.
   */
  readonly extent: "few" | "many";
  /** Whether it only makes conflicts, which refuse the fact. A job skips it, because its first fact has already decided. */
  readonly refuses?: true;
};

/** The work that a job does in batches after the fact has been appended. */
export type Later = {
  /** Whether a job does the work of a fact with this payload even if there is little of it. */
  readonly always?: (payload: JsonValue) => boolean;
  /** Statements that replace `views` when the fact is appended, after which nothing gives access. */
  readonly begins: readonly string[];
  /** The facts that the job makes, step by step, so that what one step removes does not block the next; and walks in between. */
  readonly steps: readonly (Step | Walk)[];
  /** A select from `$input` that finds a row if another job must end before this work can. */
  readonly waits?: string;
  /** Statements that end the job once no step makes any more facts. */
  readonly ends: readonly string[];
};

/** A cascade that a job makes in batches. */
export type Step = Pick<Cascade, "makes" | "select"> & {
  /**
   * The select in the order of an index, after the owner and the stream that the previous batch ended with: `$10` as a JSON array, or null.
   */
  readonly next?: string;
  /**
   * Whether the next step follows after just one batch, and all steps run again at the end: it reads rows that the earlier steps made
   * available.
   */
  readonly isOneBatch?: true;
  /** Whether the step runs for a fact with this payload; by default always. */
  readonly isFor?: (payload: JsonValue) => boolean;
};

/**
 * The select of a step in the order of an index: the table, the columns of the index that are the same for all rows with their values, the
 * one with the owner of the fact unless it is among these, and the one with its stream.
 */
type Ordered = Pick<Step, "makes"> & {
  readonly table: string;
  readonly same: readonly (readonly [column: string, value: string])[];
  readonly owner?: string;
  readonly stream: string;
  /** Composes the select with a SQL text that joins the rows `r` of the table. */
  readonly select: (join: string) => string;
};

/**
 * Makes a step in which each batch continues after the last row of the one before. While a transaction is open elsewhere, indexes keep the
 * entries of deleted rows, and searching from the beginning would read them all for each batch. As a row, the columns fit only one index,
 * and the start is looked up in it.
 */
export function inOrder({ makes, table, same, owner, stream, select }: Ordered): Step {
  const row = (texts: readonly string[]) => (texts.length > 1 ? `(${texts.join(", ")})` : texts.join());
  const [columns, values] = [same.map(([column]) => column), same.map(([, value]) => value)];
  const after = (owner === undefined ? [1] : [0, 1]).map((at) => `coalesce($10::text::jsonb->>${at}, '')`);
  const order = [...columns, ...(owner === undefined ? [] : [owner]), stream];
  return {
    makes,
    select: select(`join ${table} r on ${same.map((pair) => pair.join(" = ")).join(" and ")}`),
    next: `${select(`cross join lateral (
                   select * from ${table} r
                   where ${row(order)} > ${row([...values, ...after])} and ${row(columns)} <= ${row(values)}
                   order by ${order.join(", ")} limit $4::integer) r`)}
                 order by ${order.join(", ")}`,
  };
}

/** A step of a job that makes no facts, but visits many rows in batches. */
export type Walk = Pick<Step, "isFor"> & {
  /**
   * A select that visits at most $2 rows of the stream $1 after the place $3 (jsonb), and yields the number visited as "count", and the
   * place of the last as "after".
   */
  readonly walks: string;
};

/** The effect of a kind of fact on the tables, as set-based SQL; `$facts` stands for the facts of this type being folded. */
export type Fold = {
  /** Statements that read `$facts` (owner, stream, version, payload, time) and write view tables. */
  readonly views?: readonly string[];
  /** Statements that write credentials, and may read `secret` from `$input`. A rebuild does not replay them. */
  readonly credentials?: readonly string[];
  readonly cascades?: readonly Cascade[];
  /** How a job does the work if `many` cascades would make too many facts for one statement. */
  readonly later?: Later;
  /** The time after which rows that this fold writes to a view table may be deleted without a fact. */
  readonly expiry?: { readonly table: string; readonly column: string };
  /** A column that is missing in rows written by nodes of an earlier release, so that it may differ from a replay. */
  readonly unknownBefore?: { readonly table: string; readonly column: string };
};

export type NounFolds<N extends FactNoun> = { readonly [K in FactCase<N>]: Fold };

export type Folds = { readonly [N in FactNoun]: NounFolds<N> };

export function foldsByType(parts: readonly Partial<Folds>[]): ReadonlyMap<string, Fold> {
  const ofNoun = <N extends FactNoun>(noun: N, folds: NounFolds<N>) =>
    (Object.keys(folds) as FactCase<N>[]).map((kind) => [typeOf(noun, kind), folds[kind]] as const);
  return new Map(
    parts.flatMap((part) =>
      (Object.keys(part) as FactNoun[]).flatMap((noun) => ofNoun(noun, part[noun] as NounFolds<typeof noun>)),
    ),
  );
}

/** A SQL condition that must hold for a fact to be appended. */
export type Condition = {
  /** Columns of `asked` in addition to n, from the fact's row in `given`. */
  readonly asked: string;
  /** A select from `asked` that yields n, "holds", and the values for the error. */
  readonly select: string;
};

/** SQL for the facts of a statement, their condition, and whether it records responses for their idempotency keys. */
export type StatementOptions = {
  readonly given?: string | undefined;
  readonly condition?: Condition | undefined;
  readonly recordsAnswers?: boolean;
  /** Whether `many` cascades are left to a job, whose id is the fact's secret. */
  readonly isLeftToJob?: boolean;
  /** Whether it is a batch of a job, which nothing can refuse. */
  readonly isOfJob?: boolean;
  /** Additional CTEs, which may read `input`. */
  readonly parts?: readonly string[];
  /** The result in place of an empty row. */
  readonly yields?: string;
};

/**
 * Composes the statement that appends facts of these types: events, cascades, folds and credentials. `given` selects the facts. With a
 * condition, it yields the condition's findings for each fact.
 */
export function statementFor(
  types: readonly string[],
  folds: ReadonlyMap<string, Fold>,
  options: StatementOptions = {},
): string {
  const { given = asJson, condition, recordsAnswers = false, isLeftToJob = false, isOfJob = false } = options;
  const { parts = [], yields = "1" } = options;
  const isNow = ({ extent, refuses }: Cascade) => !(isLeftToJob && extent === "many") && !(isOfJob && refuses);
  const cascades = types.flatMap((type) =>
    (folds.get(type)?.cascades ?? []).filter(isNow).map((cascade) => ({ type, cascade })),
  );
  const touched = [...new Set([...types, ...cascades.map(({ cascade }) => cascade.makes)])].sort();
  const ctes = [
    ...inputText(given, condition),
    ...cascades.map(cascadeText),
    eventsText(cascades.length),
    ...touched.flatMap(foldText),
    ...(recordsAnswers ? [idempotencyText(condition !== undefined)] : []),
    ...(isLeftToJob ? [jobText] : []),
    ...parts,
  ];
  return `with ${ctes.join(",\n")}\nselect ${condition ? "* from found" : yields}`;

  function foldText(type: string): string[] {
    const { views = [], credentials = [], later } = folds.get(type) ?? {};
    const shown = isLeftToJob && later ? later.begins : views;
    return [...shown, ...credentials].map((text, at) => `"${type}/${at}" as (${ofType(text, type)})`);
  }
}

/** Replaces `$facts` and `$input` in a fold's statement with the facts of one type. */
export function ofType(text: string, type: string): string {
  return text.replace(/\$(facts|input)\b/g, (_, name) => `(select * from ${name} where type = '${type}')`);
}

/** Composes the update that sets version and time, and any further columns, of the row `t` from its fact `f`. */
export const touch = (table: string, id: string, columns = ""): string =>
  `update ${table} t set ${columns && `${columns}, `}version = f.version, changed = f.time
   from $facts f where t.owner = f.owner and t.${id} = f.stream`;

const recordsOf = (json: string) => `select * from jsonb_to_recordset(${json}) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)`;

const asJson = recordsOf("$1::text::jsonb");

/**
 * The parameter of a statement with a timeout for row locks. The timeout is set before anything is read, but after the table locks are
 * taken, which a migration may hold up for longer.
 */
const jsonOf = (lockTimeout: string) =>
  `(select $1::text::jsonb from set_config('lock_timeout', '${lockTimeout}', true))`;

/** The parameter of a statement that is shared. */
export const sharedJson = jsonOf("1s");

/** The facts of commands that share a statement. */
export const asSharedJson = recordsOf(sharedJson);

/** The facts of a command whose statement may take minutes, on one of few connections. */
export const asLongJson = recordsOf(jsonOf("5s"));

// A nested loop would compare every fact with every finding.
const inputText = (given: string, condition: Condition | undefined): string[] =>
  condition
    ? [
        `given as materialized (\n  ${given}\n)`,
        `asked as materialized (\n  select n, ${condition.asked} from given\n)`,
        `found as materialized (\n  ${condition.select}\n)`,
        `input as materialized (\n  select * from given where n = any(array(select n from found where holds))\n)`,
      ]
    : [`input as materialized (\n  ${given}\n)`];

const idempotencyText = (isConditional: boolean) => `idempotent as (
  insert into idempotency (caller, operation, key, request, answer, created)
  select caller, operation, key, decode(request, 'base64'), decode(answer, 'base64'), created
  from jsonb_to_recordset($2::text::jsonb) as record (
    ${isConditional ? "n integer, " : ""}caller text, operation text, key text, request text, answer text, created timestamptz)${isConditional ? "\n  where n in (select n from input)" : ""}
)`;

const jobText = `job as (
  insert into jobs (job_id, owner, type, stream, version, payload, actor, request_id, origin, created)
  select secret->>'jobId', owner, type, stream, version, payload, actor, request_id, origin, time from input
)`;

function cascadeText({ type, cascade }: { type: string; cascade: Cascade }, at: number): string {
  return `cascade_${at} as (
  select c.owner, c.stream, c.version, '${cascade.makes}' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (${ofType(cascade.select, type)}) c (n, owner, stream, version, payload) join input i using (n)
)`;
}

const epoch = "coalesce((select i.epoch from instance i), 1)";
const eventColumns = "owner, stream, version, type, payload, actor, request_id, origin, time";

function eventsText(cascades: number): string {
  const sources = ["input", ...Array.from({ length: cascades }, (_, at) => `cascade_${at}`)];
  return `facts as (
  insert into events (${eventColumns}, epoch)
  ${sources.map((source) => `select ${eventColumns}, ${epoch} from ${source}`).join("\n  union all ")}
  returning ${eventColumns}
)`;
}
