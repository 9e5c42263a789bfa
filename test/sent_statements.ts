import { type DescMessage, type DescMethod, fromJson, type JsonObject, type Message } from "@bufbuild/protobuf";
import { type ContextValues, createContextValues } from "@connectrpc/connect";
import postgres from "postgres";
import { type Call, type Deps, keys, type Membership, newId, type Reach } from "../src/deps.ts";
import { factCaches } from "../src/events/fact_cache.ts";
import { openLog } from "../src/events/log.ts";
import { clientOptions, driverUrl } from "../src/postgres/pool/connect.ts";
import { folds, services } from "../src/runtime/modules.ts";
import { ownFailureRate } from "../src/security/failure_rate.ts";
import { secretsOf } from "../src/security/secrets.ts";
import { handlersOf } from "./fixture/handler.ts";
import type { Postern } from "./harness.ts";

/** A call of a handler: the request as JSON, who calls, and how far the permission reaches. */
export type HandlerCall = {
  readonly request: Readonly<Record<string, unknown>>;
  readonly userId?: string;
  readonly sessionId?: string;
  readonly organizationId?: string;
  readonly reach?: Reach;
  /** Where the caller has roles; by default nowhere. */
  readonly memberships?: readonly Membership[];
  /** The stream is left once it has begun. */
  readonly isLeft?: true;
};

/** The handlers of every service without their guards, on a connection that records every statement. */
export type Handlers = AsyncDisposable & {
  readonly deps: Deps;
  readonly methods: readonly DescMethod[];
  readonly run: (method: DescMethod, call: HandlerCall) => Promise<unknown>;
  /** The statements since the last time, each once. */
  readonly heard: () => string[];
};

const quiet = { debug() {}, info() {}, warn: console.warn, error: console.error };
const cheap = { concurrency: 1, queue: 8, memoryKib: 64, iterations: 1, parallelism: 1 };

/** Opens the handlers on the database of a running service; their caches hear of no facts, and keep nothing unless told for how long. */
export function openHandlers(postern: Postern, { cacheSeconds = 0 } = {}): Handlers {
  const { databaseUrl, config } = postern;
  let texts: string[] = [];
  const debug = (_: number, text: string) => void texts.push(text);
  const sql = postgres(driverUrl(databaseUrl), { ...clientOptions(databaseUrl, quiet), max: 1, debug });
  const originOf = ({ values }: Call) => ({
    actor: values.get(keys.caller)?.userId,
    requestId: newId(),
    signal: undefined,
    idempotency: undefined,
  });
  const log = openLog<Call>({ sql, folds, ids: newId, originOf });
  const deps: Deps = {
    log,
    sql,
    clock: () => new Date(),
    ids: newId,
    secrets: secretsOf(config.masterKeys ?? [], cheap),
    factCache: factCaches({ clock: () => new Date(), seconds: cacheSeconds }).open,
    failureRate: ownFailureRate,
    noteAttempt() {},
  };
  const handlerOf = handlersOf({ deps, config });
  return {
    deps,
    methods: services.flatMap(({ methods }) => methods),
    async run(method, call) {
      const answer = handlerOf(method)(messageOf(method.input, call.request), valuesOf(postern, call));
      return call.isLeft && "begins" in answer ? answer.begins : ended(answer);
    },
    heard() {
      const since = [...new Set(texts)].filter((text) => !text.includes("pg_catalog"));
      texts = [];
      return since;
    },
    [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }),
  };
}

const messageOf = (type: DescMessage, request: HandlerCall["request"]): Message =>
  fromJson(type, request as JsonObject);

/** Waits for the answer, or for the first one of a stream. */
async function ended(answer: object): Promise<unknown> {
  if (!(Symbol.asyncIterator in answer)) return answer;
  for await (const first of answer as AsyncIterable<object>) return first;
  return undefined;
}

function valuesOf({ adminId, organizationId: own }: Postern, call: HandlerCall): ContextValues {
  const { userId = adminId, organizationId: organization = own, sessionId, reach = { whole: true } } = call;
  const owner = { scope: "organization", id: organization, organization, roles: ["ORG_OWNER"] } as const;
  const { memberships = [owner] } = call;
  return createContextValues()
    .set(keys.caller, { userId, organization, memberships, ...(sessionId ? { sessionId } : {}) })
    .set(keys.organization, organization)
    .set(keys.reach, reach);
}
