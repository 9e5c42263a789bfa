import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { newId } from "../../src/deps.ts";
import { type FactCase, type FactNoun, factOf, first, typeOf } from "../../src/events/fact.ts";
import type { Fold, NounFolds } from "../../src/events/fold.ts";
import { type CommandOrigin, openLog } from "../../src/events/log.ts";
import { clientOptions, connect, driverUrl, type Sql } from "../../src/postgres/pool/connect.ts";
import { organizationFolds } from "../../src/services/organizations/organization.ts";
import { projectFolds } from "../../src/services/projects/project.ts";
import { projectGrantFolds } from "../../src/services/projects/project_grant.ts";
import { freshDatabase } from "../database.ts";

const quiet = { debug() {}, info() {}, warn() {}, error: console.error };

/** The folds of organizations and of projects without what others hang on them. */
export const folds: ReadonlyMap<string, Fold> = new Map([
  ...byType("organization", organizationFolds),
  ...byType("project", {
    ...projectFolds,
    deleted: { views: projectFolds.deleted.views },
    roleRemoved: { views: projectFolds.roleRemoved.views },
  }),
  ...byType("projectGrant", projectGrantFolds),
]);

function byType<N extends FactNoun>(noun: N, nounFolds: NounFolds<N>): [string, Fold][] {
  return (Object.entries(nounFolds) as [FactCase<N>, Fold][]).map(([kind, fold]) => [typeOf(noun, kind), fold]);
}

/** A log on a database of its own, with the texts of the statements that it sent. */
export async function openTestLog(options: { readonly statementTimeoutMs?: number } = {}) {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await freshDatabase());
  const { sql, statements } = watched(opened.use(connect(url, { ...usual, ...options, log: quiet })).sql);
  const log = openLog<CommandOrigin>({ sql, folds, ids: newId, originOf: (origin) => origin });
  const stack = opened.move();
  return { url, sql, log, statements, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const usual = { connections: 8, waitMs: 60_000, statementTimeoutMs: 60_000 };

function watched(sql: Sql) {
  const statements: string[] = [];
  const proxy = new Proxy(sql, {
    get(target, key) {
      if (key !== "unsafe") return Reflect.get(target, key);
      return (...args: Parameters<Sql["unsafe"]>) => {
        statements.push(args[0]);
        return target.unsafe(...args);
      };
    },
  });
  return { sql: proxy, statements };
}

/** A client with one connection, for what needs a transaction. */
export function oneConnection(url: string): { sql: Sql } & AsyncDisposable {
  const sql = postgres(driverUrl(url), { ...clientOptions(url, quiet), max: 1 });
  return { sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) };
}

/** A command of somebody. */
export const somebody = (more: Partial<CommandOrigin> = {}): CommandOrigin => ({
  ...{ actor: "ada", requestId: "request", signal: undefined, idempotency: undefined },
  ...more,
});

/** Something that nobody else has. */
export const unique = (prefix: string) => `${prefix}-${randomBytes(6).toString("hex")}`;

/** The fact that an organization begins. */
export function organizationCreated(name = unique("organization"), id = unique("o")) {
  return factOf("organization", first(id, id, new Date()), { case: "created", value: { name } });
}

/** Chance that comes out the same for the same seed. */
export function chanceOf(from: number): () => number {
  let state = from;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Makes the function that draws things until all are drawn, and begins again. */
export function bagOf<T>(things: readonly T[], chance: () => number): () => T {
  let left: T[] = [];
  return () => {
    if (left.length === 0) left = [...things];
    const [drawn] = left.splice(Math.floor(chance() * left.length), 1);
    return drawn as T;
  };
}
