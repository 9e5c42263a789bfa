import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { holdsGrant, mayUse, userInForce } from "../../services/callers/in_force.ts";
import type { Resource, ResourceKey } from "../request/resource.ts";
import { resourceAnywhere } from "../request/resource.ts";
import { firstEnd, mayActFor, ownRoles, type SignOn, signOnTables, signOnValue } from "./subject.ts";

/** What a machine can do for a user at an API: what both of them, and the machines that acted before, may do there. */
export type Delegation = {
  readonly signOn: SignOn;
  readonly clientId: string;
  readonly projectId: string;
  readonly resource: Resource;
  /** The roles that all of them have in the API's project. */
  readonly roles: readonly string[];
  /** When the first grant of any of them ends, in seconds since 1970; null if none does. */
  readonly grantsEnd: number | null;
};

/** The access of a machine that asks for a token. */
export type AskedDelegation = Delegation & {
  /** Whether it has acted for the user there with the tokens of the same application, and that is still kept. */
  readonly hasActed: boolean;
};

/** An exchanged token, as far as it is valid by itself. */
export type ExchangedLink = Delegation & {
  /** The API that the subject token is for. */
  readonly served: Resource;
  /** The scope of the subject token, if an application holds it; null if it is an exchanged token, too. */
  readonly subjectScope: string | null;
  /** The hash of the subject token, in hexadecimal. */
  readonly subject: string;
  readonly machineId: string;
  /** The machines that acted before, the last one first. */
  readonly acted: readonly string[];
  readonly scope: string;
  /** In seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
};

const signOn = `(select ${signOnValue} from ${signOnTables})`;

// In each of the subqueries, the names mean what the conditions and columns expect: the project `p` of the organization `h`, its user `u`,
// and the organization of the sign-in, or for the machine its own, `o`. Without an offset, PostgreSQL may join every application of the
// instance before it compares their ids.
const signedIn = `(select ${signOn} as value, a.is_document from applications a
        join projects p on p.project_id = a.project_id join organizations h on h.organization_id = p.owner
        where a.app_id = o.app_id and a.active and p.active and h.active offset 0) signed`;

const byMachine = `(select c.client_id, coalesce(own.roles, '[]') as roles, ${firstEnd} as ends
        from users u join machine_client_ids c on c.user_id = u.user_id
        cross join lateral (select u.owner as organization_id) o
        cross join lateral ${ownRoles}
        where u.user_id = k.machine_id and ${userInForce} and ${holdsGrant(" and (g.owner = u.owner) is true")}) machine`;

const byUser = `(select coalesce(own.roles, '[]') as roles, ${firstEnd} as ends
        from users u cross join lateral ${ownRoles}
        where u.user_id = o.user_id and ${userInForce} and ${mayUse} and ${mayActFor("o.organization_id")}) subject`;

// `k.acted` has up to two machines, which may be the same.
const byEarlier = `(select coalesce(json_agg(coalesce(own.roles, '[]')), '[]') as held, min(${firstEnd}) as ends
        from unnest(k.acted) a (machine_id)
        cross join lateral (select * from users where users.user_id = a.machine_id limit 1) u
        cross join lateral (select u.owner as organization_id) o
        cross join lateral ${ownRoles}
        where ${userInForce}) earlier`;

const named = (resource: string) =>
  `jsonb_build_array(jsonb_build_object('appId', ${resource}->>'appId', 'uri', ${resource}->>'uri'))`;

/** The roles that the user, the machine and each one before it have. No list names a role twice. */
const commonRoles = `coalesce((select json_agg(r.role order by r.role) from (
        select held.role from (
          select machine.roles union all select subject.roles union all select json_array_elements(earlier.held)) l (roles)
        cross join lateral json_array_elements_text(l.roles) held (role)
        group by held.role having count(*) = cardinality(k.acted) + 2) r), '[]')`;

/**
 * The columns of what the machine `k.machine_id` can do at the API `k.href` by the sign-in `k.sign_on_id`, whose API it serves: `k.served`.
 * Before it, the machines `k.acted` acted.
 */
const columns = `signed.value as "signOn", machine.client_id as "clientId", p.project_id as "projectId", target.resource,
      ${commonRoles} as roles, least(machine.ends, subject.ends, earlier.ends)::float8 as "grantsEnd"`;

const tables = `join sign_ons o on o.sign_on_id = k.sign_on_id
      join machine_delegations d on d.user_id = k.machine_id
      cross join lateral ${resourceAnywhere("k.served->>'href'")} served
      cross join lateral ${resourceAnywhere("k.href")} target
      join projects p on p.project_id = target.project_id
      join organizations h on h.organization_id = p.owner
      cross join lateral ${signedIn}
      cross join lateral ${byMachine}
      cross join lateral ${byUser}
      cross join lateral ${byEarlier}`;

const isInForce = `signed.value is not null and served.resource->>'appId' = k.served->>'appId'
      and d.served @> ${named("served.resource")} and d.targets @> ${named("target.resource")}`;

const acting = "a.user_id, a.app_id, a.machine_id, a.api_id";
const asking = "o.user_id, o.app_id, k.machine_id, target.resource->>'appId'";

// Compared column by column, PostgreSQL may read all that acted with the application's tokens, by an index that has no machine.
const hasActed = `coalesce((select (${acting}) = (${asking}) and a.expiration_date > asked.now
        from acting_machines a where (${acting}) >= (${asking}) order by ${acting} limit 1), false)`;

/** The wish of a machine: the API to call, the API and the sign-in of its token, and the machines that acted with that before. */
export type DelegationWish = {
  readonly sign_on_id: string;
  readonly machine_id: string;
  readonly acted: readonly string[];
  readonly served: ResourceKey;
  readonly href: string;
  readonly now: string;
};

/** Makes the read of a machine's access on behalf of a user; undefined if it may not act there. */
export const delegationRead = (sql: Sql) =>
  loadOne<DelegationWish, AskedDelegation>(sql, {
    asked: "sign_on_id text, machine_id text, acted text[], served jsonb, href text, now timestamptz",
    select: `select asked.n, ${columns}, ${hasActed} as "hasActed"
      from asked cross join lateral (select asked.sign_on_id, asked.machine_id, asked.acted, asked.served, asked.href) k
      ${tables}
      where ${isInForce}`,
  });

/** Makes the read of whether a machine serves an API. */
export const servesRead = (sql: Sql) =>
  loadOne<{ machine_id: string; served: object }, object>(sql, {
    asked: "machine_id text, served jsonb",
    select: `select n from asked join machine_delegations d on d.user_id = asked.machine_id
      and d.served @> jsonb_build_array(asked.served)`,
  });

const epoch = (time: string) => `floor(extract(epoch from ${time}))::float8`;

/** Makes the read of an exchanged token by its hash, as far as the machine, its credential and its grants are in force. */
export const linkRead = (sql: Sql) =>
  loadOne<{ hash: string; now: string }, ExchangedLink>(sql, {
    asked: "hash text, now timestamptz",
    select: `select asked.n, ${columns}, encode(k.subject, 'hex') as subject, k.machine_id as "machineId", k.acted, k.scope,
      served.resource as served, subject_token.scope as "subjectScope",
      ${epoch("k.created")} as "issuedAt", ${epoch("k.expiration_date")} as "expiresAt"
      from asked
      cross join lateral (
        select t.sign_on_id, t.user_id as machine_id, t.served, t.resource->>'href' as href, t.resource, t.subject, t.acted, t.scope,
          t.created, t.expiration_date
        from exchanged_tokens t
        join machine_credentials m on m.credential_id = t.credential_id and coalesce(m.expiration_date, 'infinity') > asked.now
        where t.hash = decode(asked.hash, 'hex') and t.expiration_date > asked.now) k
      ${tables}
      left join lateral (
        select s.scope from sign_on_tokens s where s.hash = k.subject and s.expiration_date > asked.now
          and (not signed.is_document or (served.resource->>'acceptsDocuments')::boolean) limit 1) subject_token on true
      where ${isInForce} and target.resource->>'appId' = k.resource->>'appId'
        and (k.acted <> '{}' or subject_token.scope is not null)`,
  });
