import type { JsonValue } from "@bufbuild/protobuf";
import { constraintOf, reasonOf, refuse } from "../errors.ts";
import { foreignKey, isLockLost, isOutcomeUnknown, unique } from "../postgres/failure.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { inBatches } from "./batch.ts";
import { batchWrite, befallsOthers } from "./batch_write.ts";
import type { NewFact } from "./fact.ts";
import { asLongJson, asSharedJson, type Condition, type Fold, statementFor } from "./fold.ts";
import { workRead } from "./job.ts";
import { keyLines } from "./key_lines.ts";
import { Overtaken } from "./overtaken.ts";

/** The origin of a call, as its events record it. */
export type Origin = {
  readonly address?: string;
  /** The beginning of the User-Agent header. */
  readonly userAgent?: string;
  readonly sessionId?: string;
  readonly accessTokenId?: string;
  readonly machineCredentialId?: string;
};

/** The origin of a command, as recorded in its events. */
export type CommandOrigin = {
  readonly actor: string | undefined;
  readonly requestId: string;
  /** The origin of the call; absent if the process acts by itself. */
  readonly from?: Origin | undefined;
  readonly signal: AbortSignal | undefined;
  /** The record written with the events, so that a repeated command gets the same response. */
  readonly idempotency: IdempotencyRecord | undefined;
};

export type IdempotencyRecord = {
  readonly caller: string;
  readonly operation: string;
  readonly key: string;
  readonly request: Uint8Array;
  readonly seal: (answer: unknown) => Uint8Array;
  readonly created: Date;
};

/** The log of facts. */
export type Log<C> = {
  /**
   * Ends a write: appends the facts, their folds, credentials and cascades, and the idempotency record in one statement, and returns the
   * answer. Throws CONFLICT if it loses a race for a version, a name or a reference.
   */
  append<A>(call: C, facts: readonly NewFact[], answer: A): Promise<A>;
  /**
   * Ends a write with one fact whose cascades may make many others. If these are too many for one statement, the fact is appended alone and
   * a job does the rest; the answer is then made from the job's id.
   */
  appendLong<A>(call: C, fact: NewFact, answerOf: (jobId: string | undefined) => A): Promise<A>;
  /**
   * Ends a write with one fact, but only if its condition holds when the statement begins. Otherwise nothing is written, and the
   * condition's findings are returned.
   */
  appendIf<R extends object>(call: C, fact: NewFact, answer: unknown, condition: Condition): Promise<R | undefined>;
};

type Command = {
  readonly types: readonly string[];
  /** The version that it appends to each stream. */
  readonly versions: ReadonlyMap<string, bigint>;
  readonly rows: readonly Record<string, JsonValue>[];
  readonly record: Record<string, JsonValue> | undefined;
  /** The condition's findings, if it does not hold. */
  refused: object | undefined;
};

export type LogOptions<C> = {
  readonly sql: Sql;
  /** The pool for commands with a cascade of many facts, which may take long: it has its own connections and a longer timeout. */
  readonly longRunning?: Sql;
  readonly folds: ReadonlyMap<string, Fold>;
  readonly ids: () => string;
  readonly originOf: (call: C) => CommandOrigin;
  /** Called with the call once one of its commands has been written. */
  readonly onWritten?: (call: C) => void;
  /** Called with the facts before their command is answered. */
  readonly onAppended?: (facts: readonly NewFact[]) => void;
};

// Each statement has a commit of its own, and costs as much as five of its commands, so fewer commands wait for the running one. The facts
// of a large command share no statement with others, which would wait for them.
const shared = {
  atOnce: 2,
  worthwhile: 16,
  most: 100,
  weights: { of: ({ rows }: Command) => rows.length, most: 200 },
};
// A cascade may touch a million rows, so its statement is not shared and no other command waits for it.
const unshared = { atOnce: 8, worthwhile: undefined, most: 1 };

/** Opens the log. Concurrent commands of the same shape share one statement. */
export function openLog<C>(options: LogOptions<C>): Log<C> {
  const { sql, longRunning = sql, folds, ids, originOf, onWritten, onAppended } = options;
  type Queue = (command: Command, signal?: AbortSignal) => Promise<void>;
  const queues = new Map<Condition | undefined, Map<string, Queue>>();
  // Shared by all queues: commands of different types race for the same versions.
  const lines = keyLines<Command>({ keysOf: ({ versions }) => [...versions.keys()], fateOf });
  const isTooMuch = workRead(longRunning, folds);

  return {
    async append(call, facts, answer) {
      const origin = originOf(call);
      const command = commandOf(facts, origin, answer);
      if (facts.length === 0 && !command.record) return answer;
      await queueFor(command.types)(command, origin.signal);
      written(call, facts);
      return answer;
    },

    async appendLong<A>(call: C, fact: NewFact, answerOf: (jobId: string | undefined) => A) {
      const origin = originOf(call);
      const jobId = (await isTooMuch(fact)) ? ids() : undefined;
      const answer = answerOf(jobId);
      const begun = jobId === undefined ? fact : { ...fact, secret: { jobId } };
      const command = commandOf([begun], origin, answer);
      await queueFor(command.types, { isLeftToJob: jobId !== undefined })(command, origin.signal);
      written(call, [fact]);
      return answer;
    },

    async appendIf<R extends object>(call: C, fact: NewFact, answer: unknown, condition: Condition) {
      const origin = originOf(call);
      const command = commandOf([fact], origin, answer);
      await queueFor(command.types, { condition })(command, origin.signal);
      if (!command.refused) written(call, [fact]);
      return command.refused as R | undefined;
    },
  };

  function written(call: C, facts: readonly NewFact[]): void {
    onWritten?.(call);
    onAppended?.(facts);
  }

  function queueFor(types: readonly string[], { condition, isLeftToJob = false }: Shape = {}): Queue {
    const ofCondition = queues.get(condition) ?? new Map<string, Queue>();
    queues.set(condition, ofCondition);
    const shape = [...types, ...(isLeftToJob ? ["job"] : [])].join();
    const known = ofCondition.get(shape);
    if (known) return known;
    const extents = types.flatMap((type) => folds.get(type)?.cascades ?? []).map(({ extent }) => extent);
    const isLong = !isLeftToJob && extents.includes("many") && longRunning !== sql;
    const queue = inBatches<Command>({
      ...(extents.length > 0 ? unshared : shared),
      // What stops somebody must not wait for a deletion of theirs that has no connection yet. Long commands share no statement.
      lines: isLong ? undefined : lines,
      groupOf: ownerOf,
      run: batchWrite({
        write: writing(types, { folds, condition, isLeftToJob, isLong, on: isLong ? longRunning : sql }),
        refusal: lost,
        isPatient: isLong,
      }),
    });
    ofCondition.set(shape, queue);
    return queue;
  }
}

/** The owner of the rows that a command writes. */
const ownerOf = ({ rows }: Command): string => String(rows[0]?.owner);

type Found = { readonly n: number; readonly holds: boolean };

/** The kind of a command's statement, apart from the types of its facts. */
type Shape = { readonly condition?: Condition | undefined; readonly isLeftToJob?: boolean };

type WriteOptions = Shape & {
  readonly folds: ReadonlyMap<string, Fold>;
  readonly on: Sql;
  /** Whether its statement may take minutes. */
  readonly isLong: boolean;
};

/** Writes commands in one statement. With a condition, each command has one fact, and the statement yields the findings for it. */
function writing(types: readonly string[], { folds, on, isLong, ...shape }: WriteOptions) {
  const { condition } = shape;
  // Few commands have an idempotency key, and the parts that would record nothing take a twentieth of a lone statement's time.
  const textsOf = (given?: string) => ({
    bare: statementFor(types, folds, { ...shape, given }),
    recording: statementFor(types, folds, { ...shape, given, recordsAnswers: true }),
  });
  const [lone, together] = [textsOf(isLong ? asLongJson : undefined), textsOf(asSharedJson)];
  return async (commands: readonly Command[]): Promise<void> => {
    const facts = JSON.stringify(commands.flatMap((command) => command.rows).map((row, n) => ({ ...row, n })));
    const records = commands.flatMap(({ record }, n) => (record ? { ...record, n } : []));
    const { bare, recording } = commands.length > 1 ? together : lone;
    const rows = await (records.length > 0
      ? on.unsafe<Found[]>(recording, [facts, JSON.stringify(records)], { prepare: true })
      : on.unsafe<Found[]>(bare, [facts], { prepare: true }));
    if (!condition) return;
    // A fact without findings is not appended.
    if (rows.length !== commands.length) throw new Error("a condition has to find one row for each fact");
    for (const row of rows) {
      const command = commands[row.n];
      if (command) command.refused = row.holds ? undefined : row;
    }
  };
}

function commandOf(
  facts: readonly NewFact[],
  { actor, requestId, from, idempotency }: CommandOrigin,
  answer: unknown,
): Command {
  const versions = new Map(facts.map(({ at }) => [`${at.owner}/${at.stream}`, at.version]));
  if (versions.size < facts.length) throw new Error("a command appends at most one fact to a stream");
  return {
    types: [...new Set(facts.map(({ type }) => type))].sort(),
    versions,
    rows: facts.map(({ type, at, payload, secret = null, by = null }) => ({
      owner: at.owner,
      stream: at.stream,
      version: String(at.version),
      type,
      payload,
      secret,
      actor: actor ?? by,
      request_id: requestId,
      origin: from ?? null,
      time: at.time.toISOString(),
    })),
    record: idempotency && recordOf(idempotency, answer),
    refused: undefined,
  };
}

function recordOf({ seal, request, created, ...names }: IdempotencyRecord, answer: unknown): Record<string, JsonValue> {
  return {
    ...names,
    request: Buffer.from(request).toString("base64"),
    answer: Buffer.from(seal(answer)).toString("base64"),
    created: created.toISOString(),
  };
}

const retrySeconds = 1;

/** Turns a violated constraint into CONFLICT: constraints decide races, and the loser runs again from its read. */
function lost(error: unknown, { record }: Command): unknown {
  if (isOutcomeUnknown(error))
    return record
      ? refuse.because("OUTCOME_UNKNOWN_WITH_KEY", { retrySeconds, cause: error })
      : refuse.because("OUTCOME_UNKNOWN", { cause: error });
  const constraint = unique(error) ?? foreignKey(error) ?? (isLockLost(error) ? "lock" : undefined);
  return constraint === undefined ? error : refuse.because("CONFLICT", { params: { constraint }, cause: error });
}

/**
 * What the end of a command means for one that waits for a stream of it. If that one read the stream before the command wrote to it, the
 * database would refuse it, and everybody whose commands share its statement would wait while they are tried one by one.
 */
function fateOf({ versions, refused }: Command, error?: unknown): (waiting: Command) => unknown {
  // Somebody else wrote at its version: another node, or another process of this one.
  const isOvertaken = constraintOf(error) === "events_pkey";
  if (error !== undefined && !isOvertaken) return () => (befallsOthers(error) ? error : undefined);
  return (waiting) => {
    const stale = refused
      ? []
      : [...waiting.versions].flatMap(([stream, version]) => (version <= (versions.get(stream) ?? 0n) ? [stream] : []));
    if (stale.length === 0) return undefined;
    return refuse.because("CONFLICT", {
      params: { constraint: "events_pkey" },
      cause: new Overtaken(stale, error === undefined),
    });
  };
}

/** Returns false for a lost race and rethrows any other error; for writes that another node may do instead. */
export function lostRace(error: unknown): false {
  if (reasonOf(error) === "CONFLICT") return false;
  throw error;
}
