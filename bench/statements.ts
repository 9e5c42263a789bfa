import { randomBytes } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { AccountService } from "../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../gen/postern/v1/application_pb.ts";
import { UserGrantService } from "../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../gen/postern/v1/user_pb.ts";
import { type Implementation, implementation } from "../packages/gateway/src/rpc/operations.ts";
import { readConfig } from "../src/config.ts";
import { type Call, type Deps, keys, newId } from "../src/deps.ts";
import { openLog } from "../src/events/log.ts";
import { folds } from "../src/house.ts";
import { secretsOf } from "../src/security/secrets.ts";
import { accountService } from "../src/services/account.ts";
import { applicationService } from "../src/services/application.ts";
import { userService } from "../src/services/user.ts";
import { userGrantService } from "../src/services/user_grant.ts";
import { open } from "./ground.ts";
import { type Recipe, requestOf } from "./load/recipes.ts";

/** A statement as the service sent it, with its parameters. */
export type Statement = { readonly text: string; readonly parameters: readonly string[] };

/** Who works where in a benchmark. */
export type Place = { readonly url: string; readonly userId: string; readonly organizationId: string };

/** What the service asks of the database for the call with this number, once what it may keep is kept. */
export async function statementsOf({ url, ...who }: Place, recipe: Recipe, n: number): Promise<Statement[]> {
  const heard: Statement[] = [];
  await using opened = open(url, (text, given) => heard.push({ text, parameters: given.map(String) }));
  const sql = opened.client;
  await sql`select 1`;
  heard.length = 0;
  const secrets = secretsOf([randomBytes(32)], hashing);
  const originOf = () => ({ actor: who.userId, requestId: newId(), signal: undefined, idempotency: undefined });
  const log = openLog<Call>({ sql, folds, originOf });
  await handlerOf(recipe, { log, sql, clock: () => new Date(), ids: marks(recipe), secrets })(
    requestOf(recipe, n).message(),
    callOf(who),
  );
  return heard.filter(({ text }) => !text.includes("pg_catalog"));
}

/** The identifier that stands for the one made in this place of such a call. */
export const markOf = ({ kind }: Recipe, at: number): string => `made${at}${kind}`.padEnd(24, "z");

function marks(recipe: Recipe): () => string {
  let at = 0;
  return () => markOf(recipe, at++);
}

const hashing = { concurrency: 1, queue: 1, memoryKib: 8, iterations: 1, parallelism: 1 };

function callOf({ userId, organizationId: organization }: Omit<Place, "url">): Call {
  const values = createContextValues()
    .set(keys.caller, { userId, organization, memberships: [] })
    .set(keys.organization, organization);
  return { values, signal: new AbortController().signal, requestHeader: new Headers() };
}

function handlerOf({ kind }: Recipe, deps: Deps): (message: Uint8Array, call: Call) => Promise<unknown> {
  switch (kind) {
    case "add_user_grant":
      return handler(implementation(UserGrantService, userGrantService(deps)), "addUserGrant");
    case "change_phone":
      return handler(implementation(UserService, userService(deps, readConfig({}))), "changePhone");
    case "create_application":
      return handler(implementation(ApplicationService, applicationService(deps)), "createOidcApplication");
    case "get_me":
      return handler(implementation(AccountService, accountService(deps)), "getMe");
    case "get_user":
    case "list_user_grants":
    case "change_password":
      throw new Error(`${kind} is not compared with pgbench`);
  }
}

function handler({ service, handlers }: Implementation, name: string) {
  const method = service.method[name];
  const handle = handlers[name];
  if (!method || !handle) throw new Error(`there is no ${name}`);
  return async (bytes: Uint8Array, call: Call) => handle(fromBinary(method.input, bytes), call);
}
