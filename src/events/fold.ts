import { type FactCase, type FactNoun, typeOf } from "./fact.ts";

/** Facts about other objects that follow from a fact, made by the statement that appends it. */
export type Cascade = {
  /** Their type, such as `user_grant.removed`. */
  readonly makes: string;
  /** A select from `$input` i (the facts being appended) and views that yields i.n, owner, stream, version, payload. */
  readonly select: string;
  /**
   * How many facts it may make: `few`, as many as one user has sessions, or `many`, as others add to an object. A statement that may
   * write many has connections of its own, and those of few do not wait for it.
   */
  readonly extent: "few" | "many";
  /** Whether it makes nothing but a conflict, which refuses the fact. A job does what its first fact has decided. */
  readonly refuses?: true;
};

/** The work that a job does in batches after the statement that appends the fact. */
export type Later = {
  /** Whether a job does it even if there is little to do. */
  readonly always?: true;
  /** Statements that take the place of `views` when the fact is appended: nothing gives access from then on. */
  readonly begins: readonly string[];
  /** The facts that the job makes, step by step: what a step removes is not in the way of the next ones. */
  readonly steps: readonly Step[];
  /** A select that reads `$input` and finds a row where another job has to end before this work can. */
  readonly waits?: string;
  /** Statements that end the job, once no step makes a fact any more. */
  readonly ends: readonly string[];
};

/** A cascade that a job makes in batches. */
export type Step = Pick<Cascade, "makes" | "select"> & {
  /** Whether its first batch is followed by the next step, and at last by all steps again: it reads what those before it made way for. */
  readonly isOneBatch?: true;
};

/** The effect of a kind of fact on the tables, as SQL over sets: `$facts` stands for the facts of its type that are being folded. */
export type Fold = {
  /** Statements that read `$facts` (owner, stream, version, payload, time) and write view tables. */
  readonly views?: readonly string[];
  /** Statements that write credentials; they may read `secret` from `$input`. Not replayed by a rebuild. */
  readonly credentials?: readonly string[];
  readonly cascades?: readonly Cascade[];
  /** How a job does the work, where the cascades of many would make too many facts for one statement. */
  readonly later?: Later;
  /** The time after which the rows that this fold writes to a view table may be deleted without a fact. */
  readonly expiry?: { readonly table: string; readonly column: string };
};

/** The folds of every kind of fact about one noun. */
export type NounFolds<N extends FactNoun> = { readonly [K in FactCase<N>]: Fold };

/** The folds of every noun. */
export type Folds = { readonly [N in FactNoun]: NounFolds<N> };

/** Indexes folds by type of fact. */
export function foldsByType(parts: readonly Partial<Folds>[]): ReadonlyMap<string, Fold> {
  const ofNoun = <N extends FactNoun>(noun: N, folds: NounFolds<N>) =>
    (Object.keys(folds) as FactCase<N>[]).map((kind) => [typeOf(noun, kind), folds[kind]] as const);
  return new Map(
    parts.flatMap((part) =>
      (Object.keys(part) as FactNoun[]).flatMap((noun) => ofNoun(noun, part[noun] as NounFolds<typeof noun>)),
    ),
  );
}

/** A condition in SQL, without which a fact is not appended. */
export type Condition = {
  /** Columns of `asked` beside n, from the row of the fact in `given`. */
  readonly asked: string;
  /** A select that reads `asked` and yields n, "holds", and what a refusal is made of. */
  readonly select: string;
};

/** The facts of a statement in SQL, the condition of each of them, and whether it records answers for their idempotency keys. */
export type StatementOptions = {
  readonly given?: string | undefined;
  readonly condition?: Condition | undefined;
  readonly recordsAnswers?: boolean;
  /** Whether the cascades of many are left to a job, whose identifier is the fact's secret. */
  readonly isLeftToJob?: boolean;
  /** Whether it is a batch of a job, which nothing refuses. */
  readonly isOfJob?: boolean;
  /** Further parts of its `with`, which may read `input`. */
  readonly parts?: readonly string[];
  /** What it yields, in place of the row that says nothing. */
  readonly yields?: string;
};

/**
 * Composes the statement that appends facts of these types: events, cascades, folds and credentials. `given` selects the facts. With a
 * condition, it yields what it found for each fact.
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

/** Replaces `$facts` and `$input` in a fold's statement by the facts of one type. */
export function ofType(text: string, type: string): string {
  return text.replace(/\$(facts|input)\b/g, (_, name) => `(select * from ${name} where type = '${type}')`);
}

/** Composes the update that sets version and time of the row `t` from its fact `f`, and further columns. */
export const touch = (table: string, id: string, columns = ""): string =>
  `update ${table} t set ${columns && `${columns}, `}version = f.version, changed = f.time
   from $facts f where t.owner = f.owner and t.${id} = f.stream`;

const recordsOf = (json: string) => `select * from jsonb_to_recordset(${json}) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, time timestamptz)`;

const asJson = recordsOf("$1::text::jsonb");

/**
 * The facts of commands that share a statement, which waits a second at most for the lock of a row. What it reads, it reads after these;
 * the locks of tables, which a migration holds up for longer, are taken before.
 */
export const asSharedJson = recordsOf("(select $1::text::jsonb from set_config('lock_timeout', '1s', true))");

// A nested loop would compare each fact with each that was found.
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
  insert into jobs (job_id, owner, type, stream, version, payload, actor, request_id, created)
  select secret->>'jobId', owner, type, stream, version, payload, actor, request_id, time from input
)`;

function cascadeText({ type, cascade }: { type: string; cascade: Cascade }, at: number): string {
  return `cascade_${at} as (
  select c.owner, c.stream, c.version, '${cascade.makes}' as type, c.payload, i.actor, i.request_id, i.time
  from (${ofType(cascade.select, type)}) c (n, owner, stream, version, payload) join input i using (n)
)`;
}

const epoch = "coalesce((select i.epoch from instance i), 1)";
const eventColumns = "owner, stream, version, type, payload, actor, request_id, time";

function eventsText(cascades: number): string {
  const sources = ["input", ...Array.from({ length: cascades }, (_, at) => `cascade_${at}`)];
  return `facts as (
  insert into events (${eventColumns}, epoch)
  ${sources.map((source) => `select ${eventColumns}, ${epoch} from ${source}`).join("\n  union all ")}
  returning ${eventColumns}
)`;
}
