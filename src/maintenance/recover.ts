import type { Config } from "../config/config.ts";
import { createLogger } from "../config/logger.ts";
import { systemCall } from "../deps.ts";
import { factOf, first, type NewFact, next, type Versioned } from "../events/fact.ts";
import { lostRace } from "../events/log.ts";
import { StartError } from "../postgres/failure.ts";
import type { Sql } from "../postgres/pool/connect.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { hashToken, newToken } from "../security/token.ts";
import { nameAsked, nameKey, userNamed } from "../services/callers/login_name.ts";
import { removed } from "../services/factors/factor.ts";
import { factorsRead } from "../services/factors/factor_read.ts";
import { isLocked } from "../services/passwords/password.ts";
import { linkFor } from "./administrator_link.ts";

/** A new token for an administrator, or a link in its place, and what was done for it. */
export type Recovered = { readonly token: string; readonly lines: readonly string[] };

/** The user to recover, by default the first administrator, and whether to make a link that signs them in. */
export type ToRecover = {
  readonly wanted?: string | undefined;
  readonly organizationId?: string | undefined;
  readonly link?: boolean;
};

/**
 * Creates a new token for the first administrator, or for the user with an id, a login name or an address, which is looked up in the
 * organization if one is given. It also reactivates and unlocks that user, removes their second factors, and reactivates their
 * organization. On request, it makes a link in place of the token. Needs only the database and the master key, and may run alongside the
 * service.
 */
export async function recover(config: Config, { wanted, organizationId, link }: ToRecover = {}): Promise<Recovered> {
  // Standard output is reserved for the token, but the log goes there by default.
  await using runtime = await openRuntime(config, {
    logger: createLogger({ ...config, logLevel: "silent" }),
    join: true,
  });
  const { id, owner } = await onlyUserOf(
    runtime.deps.sql,
    wanted === undefined ? undefined : { wanted, organizationId },
  );
  const reopened = await reactivateOrganization(runtime, owner);
  const reactivated = await reactivate(runtime, id);
  const unlocked = await unlock(runtime, id);
  const factors = await removeFactors(runtime, { owner, id });
  const user = await userOf(runtime.deps.sql, { wanted: id });
  const given = await (link ? giveLink(runtime, config, user) : giveToken(runtime, user));
  const lines = [
    `user ${user.username} (${user.id}), ${roleOf(user)}`,
    ...(reopened ? [`its organization (${owner}) was deactivated, and is active now`] : []),
    reactivated ? "it was deactivated, and is active now" : "it was already active",
    unlocked ? "it was locked after wrong passwords, and is unlocked now" : "it was not locked",
    ...(factors > 0 ? [`removed its second factors (${factors})`] : []),
    given.line,
  ];
  return { token: given.token, lines };
}

type Recoverable = Versioned & {
  readonly username: string;
  readonly active: boolean;
  readonly kind: string;
  readonly locked: boolean;
  readonly lockedUntil: Date | null;
  readonly ownsInstance: boolean;
};

/** Finds the requested user; fails if the text is the id of one user and the login name of another. */
async function onlyUserOf(sql: Sql, of: Wanted | undefined): Promise<Recoverable> {
  const users = of === undefined ? [] : await usersNamed(sql, of);
  const [one, other] = users;
  if (!one || !other) return userOf(sql, of);
  const named = JSON.stringify(of?.wanted);
  throw new StartError(
    `${named} is the id of the user ${JSON.stringify(one.username)} and the login name of the user ${other.id}: pass whichever of the two only the user you mean has`,
  );
}

/** The id, the login name or the address of a user, and the organization in which it is looked up. */
type Wanted = { readonly wanted: string; readonly organizationId?: string | undefined };

async function userOf(sql: Sql, of: Wanted | undefined): Promise<Recoverable> {
  const [user] = await (of === undefined ? firstAdministrator(sql) : usersNamed(sql, of));
  if (user) return user;
  if (of !== undefined)
    throw new StartError(`No user has the id, the login name or the email address ${JSON.stringify(of.wanted)}`);
  throw new StartError("There is no administrator yet: start the service, or run bootstrap");
}

const ownsInstance = `exists (
  select from members m where m.user_id = u.user_id and m.scope = 'instance' and 'INSTANCE_OWNER' = any(m.roles))`;

const columns = `u.user_id as id, u.owner, u.kind, u.username, u.active, u.locked, u.locked_until as "lockedUntil",
  u.version, u.created, u.changed, ${ownsInstance} as "ownsInstance"`;

const firstAdministrator = (sql: Sql) => sql<Recoverable[]>`
  select ${sql.unsafe(columns)} from users u where ${sql.unsafe(ownsInstance)} order by u.created, u.user_id limit 1`;

// Ids come before login names: somebody may have chosen an id as a name, or a name as an id.
function usersNamed(sql: Sql, { wanted, organizationId }: Wanted) {
  const key = JSON.stringify([nameKey({ loginName: wanted, organizationId })]);
  return sql<Recoverable[]>`
    with asked as (select * from jsonb_to_recordset(${key}::text::jsonb) as asked (${sql.unsafe(nameAsked)}))
    select ${sql.unsafe(columns)} from users u
    where u.user_id = ${wanted} or u.user_id = (select l.user_id from asked join ${sql.unsafe(userNamed)})
    order by u.user_id = ${wanted} desc limit 2`;
}

const roleOf = ({ ownsInstance }: Recoverable): string =>
  ownsInstance
    ? "an owner of the instance"
    : "not an owner of the instance: the token can do what the user's roles allow";

/** Reactivates an organization; false if it was active. */
async function reactivateOrganization({ deps }: Runtime, id: string): Promise<boolean> {
  const { log, sql, clock, ids } = deps;
  for (;;) {
    const [shut] = await deactivated(sql, id);
    if (!shut) return false;
    const fact = factOf("organization", next(shut, clock()), { case: "reactivated", value: {} });
    if (await log.append(systemCall(ids()), [fact], true).catch(lostRace)) return true;
  }
}

const deactivated = (sql: Sql, id: string) => sql<Versioned[]>`
  select organization_id as id, organization_id as owner, version, created, changed from organizations
  where organization_id = ${id} and not active and not deleted`;

/** Reactivates a user; false if they were active. */
function reactivate(runtime: Runtime, userId: string): Promise<boolean> {
  const { clock } = runtime.deps;
  return changeUser(runtime, userId, (user) =>
    user.active ? undefined : factOf("user", next(user, clock()), { case: "reactivated", value: {} }),
  );
}

/** Ends a user's lock; false if there was none. */
function unlock(runtime: Runtime, userId: string): Promise<boolean> {
  const { clock } = runtime.deps;
  return changeUser(runtime, userId, (user) =>
    isLocked(user, clock()) ? factOf("user", next(user, clock()), { case: "unlocked", value: {} }) : undefined,
  );
}

/** Removes a user's second factors; returns how many there were. */
async function removeFactors({ deps }: Runtime, { owner, id }: Pick<Recoverable, "owner" | "id">): Promise<number> {
  const { log, sql, clock, ids } = deps;
  const factorsOf = factorsRead(sql);
  for (;;) {
    const factors = await factorsOf({ owner, user: id });
    const now = clock();
    const facts = factors.map((row) => removed(row, { byAdministrator: true, now }));
    if (facts.length === 0 || (await log.append(systemCall(ids()), facts, true).catch(lostRace))) return facts.length;
  }
}

type FactFor = (user: Recoverable) => NewFact | undefined;

/** Appends a fact about the user's current state, again if another command was faster; false if there is none to append. */
async function changeUser({ deps }: Runtime, userId: string, factFor: FactFor): Promise<boolean> {
  const { log, sql, ids } = deps;
  for (;;) {
    const fact = factFor(await userOf(sql, { wanted: userId }));
    if (!fact) return false;
    if (await log.append(systemCall(ids()), [fact], true).catch(lostRace)) return true;
  }
}

type Given = { readonly token: string; readonly line: string };

async function giveToken({ deps }: Runtime, { owner, id: userId }: Recoverable): Promise<Given> {
  const { log, clock, ids } = deps;
  const token = newToken("pt");
  const at = first(owner, ids(), clock());
  const secret = { hash: hashToken(token).toString("hex") };
  const created = factOf("accessToken", at, { case: "created", value: { userId, name: "recover" } }, secret);
  const line = `created the access token ${at.stream}, which does not expire; it is only on standard output`;
  return log.append(systemCall(ids()), [created], { token, line });
}

async function giveLink(runtime: Runtime, config: Config, { id, kind, username }: Recoverable): Promise<Given> {
  if (kind !== "human") throw new StartError(`The user ${username} is a machine, which has no password`);
  const userOfId = () => userOf(runtime.deps.sql, { wanted: id });
  const link = await linkFor(runtime, config, { purpose: "recovery", userOf: userOfId });
  if (link === undefined)
    throw new StartError(
      "PUBLIC_URL has to be an https URL without a path: without that, there are no pages to link to",
    );
  return {
    token: link,
    line: "made a link that signs the user in once, within ten minutes; it is only on standard output",
  };
}
