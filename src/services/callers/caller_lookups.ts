import type { Caller, Membership, TokenApplication } from "../../deps.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { mayUse, mayUseUntil, membershipIsLeft, organizationIsThere, userInForce } from "./in_force.ts";
import { type NameKey, nameAsked, nameOnlyKey, type TypedName, userNamed } from "./login_name.ts";

type Held = { scope: Membership["scope"]; id: string; organization: string; project: string | null; roles: string[] };
type BearerRow = {
  userId: string;
  organization: string;
  sessionId: string | null;
  tokenId: string | null;
  expires: Date | null;
  enrolmentOnly: boolean | null;
  permissions: string[] | null;
  application: TokenApplication | null;
  consoleSessionId: string | null;
  machineCredentialId: string | null;
  lastUsed: Date | null;
  memberships: Held[];
};

// A membership counts in its owner: the instance, the organization itself, the project's owner, or the grantee.
const memberships = (which = "") => `
  coalesce((
    select jsonb_agg(jsonb_build_object('scope', m.scope, 'id', m.scope_id, 'organization', m.owner,
      'project', coalesce(m.project_id, g.project_id), 'roles', m.roles))
    from members m left join project_grants g on g.project_grant_id = m.project_grant_id
    where m.user_id = u.user_id and ${membershipIsLeft}${which}
  ), '[]'::jsonb) as memberships`;

// A deactivated organization's memberships give a caller nothing. The instance has no row among the organizations.
const inForce = " and not exists (select from organizations d where d.organization_id = m.owner and not d.active)";

// Sessions and personal access tokens.
const ofBearer = `
  select b.user_id, s.session_id, t.token_id, coalesce(s.expiration_date, t.expiration_date) as expires, s.enrolment_only,
    case when t.permissions <> '{}' then t.permissions end as permissions, null::jsonb as application,
    coalesce(b.last_used, s.created) as last_used, null::text as console_session_id, null::text as machine_credential_id
  from (select * from bearers where bearers.hash = decode(asked.hash, 'hex') limit 1) b
  left join lateral (select * from sessions where sessions.session_id = b.session_id limit 1) s on true
  left join lateral (select * from access_tokens where access_tokens.token_id = b.token_id limit 1) t on true
  where s.session_id is not null or t.token_id is not null`;

// Access tokens of first-party applications for this API, bound to no key (RFC 9449), as long as user, session and application may have
// them. A user grant may end before its user's token, and a cache of callers needs to know when.
const ofApplication = `
  select u.user_id, null, null, least(g.expiration_date, ${mayUseUntil}), s.enrolment_only, string_to_array(g.scope, ' '),
    jsonb_build_object('signOnId', o.sign_on_id, 'appId', o.app_id, 'projectId', p.project_id, 'sessionId', o.session_id,
      'origins', to_jsonb(origins_of(a.oidc))), null, null, null
  from (select * from sign_on_tokens t where t.hash = decode(asked.hash, 'hex') limit 1) g
  cross join lateral (select * from sign_ons where sign_ons.sign_on_id = g.sign_on_id limit 1) o
  cross join lateral (select * from browser_sessions w where w.session_id = o.session_id limit 1) v
  left join lateral (select * from sessions where sessions.session_id = o.session_id limit 1) s on true
  cross join lateral (select * from applications where applications.app_id = o.app_id limit 1) a
  cross join lateral (select * from projects where projects.project_id = a.project_id limit 1) p
  cross join lateral (select * from organizations where organizations.organization_id = p.owner limit 1) h
  cross join lateral (select * from users where users.user_id = o.user_id limit 1) u
  where g.jkt is null and o.for_api and (s.session_id is not null or v.expiration_date <= now())
    and a.active and (a.oidc->>'firstParty')::boolean and p.active and h.active and not h.deleted and ${mayUse}`;

// Tokens of the console, as long as the session of the browser has not ended.
const ofConsole = `
  select s.user_id, null, null, c.expiration_date, s.enrolment_only, null, null, null, s.session_id, null
  from (select * from console_sign_ons where console_sign_ons.token_hash = decode(asked.hash, 'hex') limit 1) c
  cross join lateral (select * from browser_sessions w where w.session_id = c.session_id limit 1) v
  cross join lateral (select * from sessions where sessions.session_id = c.session_id limit 1) s`;

// Access tokens of machines for this API, limited to what they asked for, as long as the credential lasts.
const ofMachine = `
  select g.user_id, null, null, least(g.expiration_date, m.expiration_date), null, string_to_array(g.scope, ' '), null, null, null,
    g.credential_id
  from (select * from machine_tokens t where t.hash = decode(asked.hash, 'hex') limit 1) g
  cross join lateral (select * from machine_credentials c where c.credential_id = g.credential_id limit 1) m
  where g.jkt is null and g.for_api`;

/**
 * Finds the caller by the hash of the token: an active user of an active organization, with a valid session, access token, or token of a
 * first-party application, of a machine or of the console. Without the limits, a plan made while the tables had two rows would join every
 * session with every other.
 */
export function callerRead(sql: Sql) {
  const bearer = loadOne<{ hash: string }, BearerRow>(sql, {
    asked: "hash text",
    select: `select n, u.user_id as "userId", u.owner as organization, b.session_id as "sessionId", b.token_id as "tokenId",
               b.expires, b.enrolment_only as "enrolmentOnly", b.permissions, b.application, b.last_used as "lastUsed",
               b.console_session_id as "consoleSessionId", b.machine_credential_id as "machineCredentialId",
               ${memberships(inForce)}
             from asked join lateral (${ofBearer} union all ${ofApplication} union all ${ofMachine} union all ${ofConsole}) b on true
             cross join lateral (select * from users where users.user_id = b.user_id limit 1) u where ${userInForce}`,
  });
  return async (hash: string) => {
    const row = await bearer({ hash });
    if (!row) return undefined;
    const only = row.permissions ?? undefined;
    const caller: Caller = {
      userId: row.userId,
      organization: row.organization,
      ...(row.sessionId === null ? {} : { sessionId: row.sessionId }),
      ...(row.tokenId === null ? {} : { tokenId: row.tokenId }),
      ...(row.consoleSessionId === null ? {} : { consoleSessionId: row.consoleSessionId }),
      ...(row.machineCredentialId === null ? {} : { machineCredentialId: row.machineCredentialId }),
      ...(only ? { isLimited: true } : {}),
      ...(row.enrolmentOnly ? { isEnrolling: true } : {}),
      ...(row.application ? { application: row.application } : {}),
      // If a second factor is required, a password alone gives no permissions, not even over other users.
      memberships: (row.enrolmentOnly ? [] : row.memberships)
        .map(membership)
        .map((held) => (only ? { ...held, only } : held)),
    };
    return { caller, expires: row.expires ?? undefined, lastUsed: row.lastUsed };
  };
}

/** Reads a user's memberships, including those without effect at the moment, so that nobody can act above the user meanwhile. */
export function membershipsRead(sql: Sql) {
  const ofUser = loadOne<{ id: string }, { memberships: Held[] }>(sql, {
    asked: "id text",
    select: `select n, ${memberships()} from asked join all_users u on u.user_id = asked.id`,
  });
  return async (id: string) => ((await ofUser({ id }))?.memberships ?? []).map(membership);
}

export function ownerOfUserRead(sql: Sql) {
  const read = loadOne<{ id: string }, { owner: string }>(sql, {
    asked: "id text",
    select: `select n, u.owner from asked join users u on u.user_id = asked.id where ${organizationIsThere("u.owner")}`,
  });
  const same = sameTexts();
  return async (id: string) => {
    const owner = (await read({ id }))?.owner;
    return owner === undefined ? undefined : same(owner);
  };
}

/** Reads the owner of a user from the first event, which every user has, even a deleted one. */
export function ownerOfAnyUserRead(sql: Sql) {
  const read = loadOne<{ id: string }, { owner: string }>(sql, {
    asked: "id text",
    select: `select n, e.owner from asked cross join lateral (
               select * from events where stream = asked.id and version = 1 order by time, position limit 1) e
             where e.type in ('user.human_created', 'user.machine_created')`,
  });
  return async (id: string) => (await read({ id }))?.owner;
}

/** Reads which user has a login name; an address alone finds nobody. */
export function userOfLoginNameRead(sql: Sql) {
  const read = loadOne<NameKey, { userId: string; owner: string }>(sql, {
    asked: nameAsked,
    select: `select n, l.user_id as "userId", l.owner from asked join ${userNamed}
             where ${organizationIsThere("l.owner")}`,
  });
  return async (name: TypedName) => read(nameOnlyKey(name));
}

export function userOfSessionRead(sql: Sql) {
  const read = loadOne<{ id: string }, { userId: string; owner: string }>(sql, {
    asked: "id text",
    select: `select n, s.user_id as "userId", s.owner from asked join sessions s on s.session_id = asked.id
             where ${organizationIsThere("s.owner")}`,
  });
  return async (id: string) => read({ id });
}

/** Reads whether an organization exists; undefined if it does not, so that only existence is cached. */
export function organizationExistsRead(sql: Sql) {
  const read = loadOne<{ id: string }, object>(sql, {
    asked: "id text",
    select: `select n from asked join organizations on organization_id = asked.id and not deleted`,
  });
  return async (id: string) => ((await read({ id })) ? true : undefined);
}

export function userGrantPlaceRead(sql: Sql) {
  const read = loadOne<{ id: string }, { owner: string; projectId: string; projectGrantId: string | null }>(sql, {
    asked: "id text",
    select: `select n, owner, project_id as "projectId", project_grant_id as "projectGrantId"
             from asked join user_grants on user_grant_id = asked.id`,
  });
  return async (id: string) => read({ id });
}

export function doneBeforeRead(sql: Sql) {
  return loadOne<{ caller: string; operation: string; key: string }, { request: Buffer; answer: Buffer }>(sql, {
    asked: "caller text, operation text, key text",
    select: `select n, request, answer from asked join idempotency using (caller, operation, key)`,
  });
}

/** Interns equal texts, so that cached entries for a million users share the name of their organization. */
function sameTexts(most = 10_000): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const one = known.get(text);
    if (one !== undefined) return one;
    if (known.size >= most) known.clear();
    known.set(text, text);
    return text;
  };
}

function membership({ project, ...held }: Held): Membership {
  return project === null ? held : { ...held, project };
}
