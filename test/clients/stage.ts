import postgres from "postgres";
import { clientOptions, driverUrl } from "../../src/postgres/pool/connect.ts";
import { fixtureOf } from "../fixture/organization.ts";
import { organization, type Postern, signedUp, startPostern } from "../harness.ts";

/** The environment of a program. */
export type Environment = Readonly<Record<`POSTERN_${string}`, string>>;

/** A server with what a program needs there, on which nobody gets an access token while it is open. */
export type Stage = AsyncDisposable & { readonly postern: Postern; readonly environment: Environment };

/** Starts a server for one program. */
export async function openStage(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const postern = opened.use(await startPostern({ databaseStatementTimeoutMs: 5_000 }));
  const environment = await environmentOf(postern);
  opened.use(await holdTokens(postern.databaseUrl));
  const stack = opened.move();
  return { postern, environment, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function environmentOf(postern: Postern): Promise<Environment> {
  const here = await fixtureOf(postern, postern.organizationId);
  const elsewhere = await fixtureOf(postern, await organization(postern));
  const { userId, username, password } = await signedUp(postern);
  return {
    POSTERN_URL: postern.url,
    POSTERN_ADDRESS: new URL(postern.url).host,
    POSTERN_TOKEN: postern.admin.token ?? "",
    POSTERN_USER_ID: userId,
    POSTERN_LOGIN_NAME: username,
    POSTERN_PASSWORD: password,
    POSTERN_PROJECT_ID: here.projectId,
    POSTERN_ELSEWHERE_ORGANIZATION_ID: elsewhere.organizationId,
    POSTERN_ELSEWHERE_PROJECT_ID: elsewhere.projectId,
  };
}

/**
 * Keeps every new access token waiting, and nothing else: a lock of the table would hold up new passwords too, which may end tokens. The
 * statement ends by its own time, so that it holds back those that watch events no longer.
 */
async function holdTokens(databaseUrl: string): Promise<AsyncDisposable> {
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const sql = postgres(driverUrl(databaseUrl), { ...clientOptions(databaseUrl, log), max: 1 });
  await sql.unsafe(`
    create function hold_token() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(77); return new; end $$;
    create trigger hold_token before insert on access_tokens for each row execute function hold_token();
    select pg_advisory_lock(77)`);
  return {
    async [Symbol.asyncDispose]() {
      // In this order: a token that still waits would hold up the end of the trigger for ever.
      await sql.unsafe("select pg_advisory_unlock(77)");
      await sql.unsafe("drop trigger hold_token on access_tokens");
      await sql.end();
    },
  };
}
