import type { Call, Deps } from "../../deps.ts";
import { callOrigin } from "../../deps.ts";
import { factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Origin } from "../../events/log.ts";
import { sharedWrite } from "../../events/shared_write.ts";
import { retry } from "../../guards/retry.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { userInForce } from "../../services/callers/in_force.ts";
import { qualifiedName } from "../../services/callers/login_name.ts";
import { OauthError } from "../http/oauth_error.ts";
import { secondsOf } from "../http/settings.ts";
import type { MachineClient, MachineCredential, ProvenMachine } from "../request/machine.ts";
import { type Resource, type ResourceKey, resourceKeys, resourceOf } from "../request/resource.ts";
import { fitted } from "./claims_size.ts";
import { signJwt } from "./jwt.ts";
import { holdsMachineGrant, type MachineTarget } from "./machine_target.ts";
import { ownRoles } from "./subject.ts";
import { keyClaim, type TokenKey } from "./token_key.ts";
import type { TokenMaker } from "./tokens.ts";

/** A machine with its credential, the target of its token, the key that it is bound to, and the time. */
export type MachineTokenOf = ProvenMachine & {
  readonly target: MachineTarget;
  readonly jkt: TokenKey;
  readonly now: Date;
};

/** An access token of a machine: its text, the value whose hash identifies its row, and its lifetime in seconds. */
export type MachineToken = { readonly text: string; readonly value: string; readonly seconds: number };

/** Makes an access token: opaque, or a JWT if its API, or for a project its credential, says so. Those for our API are always opaque. */
export async function newMachineToken(maker: TokenMaker, of: MachineTokenOf): Promise<MachineToken> {
  const { credential, target } = of;
  const seconds = secondsOfToken(maker, of);
  const { resource } = target;
  if (!(resource ? resource.isJwt : credential.isJwt && !target.forApi)) {
    const text = newToken("oa");
    return { text, value: text, seconds };
  }
  const jti = maker.ids();
  const claims = fitted({
    required: claimsOf(maker, of, { jti, seconds }),
    profile: {},
    roles: { roles: target.roles },
    declared: {},
  });
  const algorithm = resource?.algorithm ?? "RS256";
  return { text: await signJwt(maker.keys, { type: "at+jwt", algorithm, claims }), value: jti, seconds };
}

/** The claims of a JWT (RFC 9068, 2.2). */
function claimsOf(
  { issuer }: TokenMaker,
  { machine, target, jkt, now }: MachineTokenOf,
  { jti, seconds }: { readonly jti: string; readonly seconds: number },
) {
  return {
    iss: issuer(),
    aud: target.resource?.uri ?? target.projectId,
    iat: secondsOf(now),
    exp: secondsOf(now) + seconds,
    sub: machine.userId,
    jti,
    client_id: machine.clientId,
    scope: target.scope,
    ...keyClaim(jkt),
    "urn:postern:organization:id": target.organizationId,
  };
}

/** A token ends no later than its credential and the first of the grants behind it. */
function secondsOfToken({ settings }: TokenMaker, { credential, target, now }: MachineTokenOf): number {
  const ofCredential = credential.expires === null ? [] : [Math.floor(credential.expires / 1000)];
  const ends = [...ofCredential, ...(target.grantsEnd === null ? [] : [target.grantsEnd])];
  const left = ends.map((end) => end - secondsOf(now));
  return Math.max(1, Math.min(settings.oauthTokenLifetimeSeconds, ...left));
}

const mostTokensOfCredential = 1_000;
// Finding the oldest means reading all others, so one new token in 64 does it, by the first byte of its hash.
const trimmingBelow = "\\x04";

type NewRow = Readonly<Record<"hash" | "credential_id" | "user_id" | "organization" | "scope", string>> & {
  readonly project: string | null;
  readonly resource: ResourceKey | null;
  readonly jkt: TokenKey;
  readonly now: string;
  readonly ends: string;
};

type NotedRow = NewRow & { readonly origin: Origin | undefined };

const ofRow = `hash bytea, credential_id text, user_id text, organization text, project text, resource jsonb, scope text,
    jkt text, now timestamptz, ends timestamptz`;

// Stores the tokens whose machine and credential are in force. Without the limits, a plan made while there were two users or credentials
// would read every one added later. The rows are numbered before they are stored: afterwards, each would have to be compared with every key.
const made = `found as (
  select asked.* from asked
  cross join lateral (select from machine_proofs k where k.credential_id = asked.credential_id limit 1) k
  cross join lateral (select * from users where users.user_id = asked.user_id limit 1) u
  where ${userInForce}
),
made as (
  insert into machine_tokens (hash, credential_id, user_id, organization_id, project_id, resource, scope,
    jkt, for_api, created, expiration_date)
  select hash, credential_id, user_id, organization, project, resource, scope, jkt, project is null, now, ends from found
)`;

/** Makes the write of an access token; undefined if its machine or credential has ended. */
const tokenWrite = (sql: Sql) =>
  // Each statement has a commit of its own, so a few tokens wait for the running one.
  sharedWrite<NewRow, object>(sql, { asked: ofRow, select: "select n from found", parts: made }, { worthwhile: 8 });

/**
 * Makes the same write, which also records the use of the credential, to the hour, and now and then ends the credential's oldest tokens if
 * there are too many. Rows that others have locked are left to the next write: so it never waits, and cannot deadlock with a write on
 * another node or with the removal of a credential.
 */
const notedTokenWrite = (sql: Sql) =>
  sharedWrite<NotedRow, { readonly isRecorded: boolean }>(sql, {
    asked: `${ofRow}, origin jsonb`,
    select: `select n, used.credential_id is not null as "isRecorded" from found left join used using (credential_id)`,
    parts: `${made},
surplus as (
  delete from machine_tokens where ctid = any(array(
    select ctid from machine_tokens where hash = any(array(
      select o.hash from asked cross join lateral (
        select t.hash from machine_tokens t where t.credential_id = asked.credential_id
        order by t.created desc offset ${mostTokensOfCredential - 1} limit 1000) o
      where asked.hash < '${trimmingBelow}'))
    for update skip locked))
),
used as (
  update machine_proofs k set (last_used, last_used_origin) = (
    select a.now, a.origin from asked a where a.credential_id = k.credential_id limit 1)
  where credential_id = any(array(
    select credential_id from machine_proofs where credential_id = any(array(select credential_id from asked))
      and coalesce(last_used, '-infinity') <= (select min(now) from asked) - interval '1 hour'
    for no key update skip locked))
  returning credential_id
)`,
  });

const hourMs = 3_600_000;

/** Makes the function that writes a machine's token; false if the machine or its credential has ended meanwhile. */
export function writingMachineTokens(sql: Sql) {
  const [write, writeNoted] = [tokenWrite(sql), notedTokenWrite(sql)];
  // Uses that were recorded for cached credentials, which are as they were read.
  const recorded = new WeakMap<MachineCredential, number>();
  const isFirstInHour = (credential: MachineCredential, now: Date): boolean =>
    now.getTime() - (recorded.get(credential) ?? credential.lastUsed ?? 0) >= hourMs;

  return async (of: MachineTokenOf, { value, seconds }: MachineToken, call: Call): Promise<boolean> => {
    const { machine, credential, target, jkt, now } = of;
    const row = {
      hash: `\\x${hashToken(value).toString("hex")}`,
      credential_id: credential.id,
      user_id: machine.userId,
      organization: target.organizationId,
      project: target.projectId,
      resource: (target.resource && resourceKeys([target.resource])[0]) ?? null,
      scope: target.scope,
      jkt,
      now: now.toISOString(),
      ends: new Date(now.getTime() + seconds * 1000).toISOString(),
    };
    if (row.hash >= trimmingBelow && !isFirstInHour(credential, now)) return (await write(row)) !== undefined;
    const written = await writeNoted({ ...row, origin: callOrigin(call) });
    if (written?.isRecorded) recorded.set(credential, now.getTime());
    return written !== undefined;
  };
}

/** An access token of a machine for a project, or for one API of it. */
export type FoundMachineToken = Readonly<Record<"userId" | "userOwner" | "qualifiedName" | "clientId", string>> & {
  readonly projectId: string;
  readonly organizationId: string;
  /** Whether it is for an API by its resource URI, and that API; null if the project no longer has it. */
  readonly isForResource: boolean;
  readonly resource: Resource | null;
  /** The key that it is bound to. */
  readonly jkt: string | null;
  readonly scope: string;
  readonly roles: readonly string[];
  /** In seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
};

type Lookup = { readonly hash: string; readonly now: string };

const lookupOf = (value: string, now: Date): Lookup => ({
  hash: hashToken(value).toString("hex"),
  now: now.toISOString(),
});

const epoch = (time: string) => `floor(extract(epoch from ${time}))`;

const tokenInForce = `machine_tokens g on g.hash = decode(asked.hash, 'hex') and g.expiration_date > asked.now
      join machine_credentials m on m.credential_id = g.credential_id
        and coalesce(m.expiration_date, 'infinity') > asked.now`;

/** Makes the read of a machine's token for a project, as long as machine, credential and grant are in force. */
export function machineTokenRead(sql: Sql) {
  const read = loadOne<Lookup, FoundMachineToken>(sql, {
    asked: "hash text, now timestamptz",
    select: `select n, u.user_id as "userId", u.owner as "userOwner", ${qualifiedName("u")} as "qualifiedName",
      c.client_id as "clientId", g.project_id as "projectId", g.organization_id as "organizationId", g.scope, g.jkt,
      g.resource is not null as "isForResource",
      case when g.resource is not null then ${resourceOf("g.resource", "g.project_id")} end as resource,
      coalesce(own.roles, '[]') as roles, ${epoch("g.created")}::float8 as "issuedAt",
      ${epoch("g.expiration_date")}::float8 as "expiresAt"
      from asked join ${tokenInForce}
      join users u on u.user_id = g.user_id and ${userInForce}
      join machine_client_ids c on c.user_id = u.user_id
      join projects p on p.project_id = g.project_id
      join organizations h on h.organization_id = p.owner
      cross join lateral (select g.organization_id) o
      cross join lateral ${ownRoles}
      where ${holdsMachineGrant}`,
  });
  return (value: string, now: Date) => read(lookupOf(value, now));
}

type OwnToken = Versioned & { readonly userId: string; readonly forApi: boolean };

async function revokeExchanged(sql: Sql, userId: string, value: string): Promise<void> {
  const hash = hashToken(value);
  const [found] = await sql<
    { userId: string }[]
  >`select user_id as "userId" from exchanged_tokens where hash = ${hash}`;
  if (found && found.userId !== userId) throw ofAnother();
  if (found) await sql`delete from exchanged_tokens where hash = ${hash}`;
}

const ofAnother = () => new OauthError("invalid_grant", "the token is of another client");

/** Makes the function with which a machine revokes a token of its own (RFC 7009); an unknown one is no error. */
export function machineRevocation({ sql, log, clock }: Pick<Deps, "sql" | "log" | "clock">) {
  const ownToken = loadOne<Lookup, OwnToken>(sql, {
    asked: "hash text, now timestamptz",
    select: `select n, m.credential_id as id, m.owner, m.user_id as "userId", g.for_api as "forApi", m.version, m.created, m.changed
      from asked join ${tokenInForce}`,
  });
  return async ({ userId }: MachineClient, value: string, call: Call): Promise<void> => {
    const key = lookupOf(value, clock());
    const found = await ownToken(key);
    if (!found) return revokeExchanged(sql, userId, value);
    if (found.userId !== userId) throw ofAnother();
    if (!found.forApi) return void (await sql`delete from machine_tokens where hash = ${hashToken(value)}`);
    // Nodes cache callers of our API for a moment, and the fact reaches all of them. Tokens of one credential have one history.
    // The client may disconnect before.
    const lasting = { ...call, signal: new AbortController().signal };
    await retry(async () => {
      const row = await ownToken(key);
      if (!row) return;
      const fact = { case: "tokenRevoked", value: { userId } } as const;
      const revoked = factOf("machineCredential", next(row, clock()), fact, { hash: key.hash });
      await log.append(lasting, [{ ...revoked, by: userId }], true);
    }, lasting);
  };
}
