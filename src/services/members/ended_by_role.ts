import { type Call, callerOf, type Deps, type Membership } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { Cascade } from "../../events/fold.ts";
import { load } from "../../events/load.ts";
import { coversEverybody } from "../../guards/escalation.ts";
import { asLostRace } from "../../guards/lock_retry.ts";
import { uncovered } from "../../guards/missing_permission.ts";
import type { Permission } from "../../guards/permissions.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { membershipsRead } from "../callers/caller_lookups.ts";
import { untilDone } from "../writing/end_anyway.ts";
import { forgetAnswer } from "../writing/forget_answer.ts";
import { aside } from "../writing/side_call.ts";

/** A role given to a user. */
export type NewRole = { readonly userId: string; readonly target: Membership };

/** The credentials that a new role ends: their number, and the secret with which its fact ends them. */
export type Outgrown = {
  readonly count: number;
  readonly secret: { readonly userId: string; readonly keptCreators: string[] };
};

/**
 * Finds the tokens and codes that a user outgrows with a new role: those whose creator holds less than the role gives, and would gain it
 * through them. Those whose creator is unknown end too.
 */
export function outgrownBy({ sql, clock }: Pick<Deps, "sql" | "clock">) {
  const creationsOf = creationsRead(sql);
  const membershipsOf = membershipsRead(sql);

  return async ({ userId, target }: NewRole, call: Call): Promise<Outgrown> => {
    const created = await creationsOf({ user: userId, now: clock().toISOString() }, call.signal);
    const lesser = await Promise.all(created.map(async (one) => ((await isLess(one, target)) ? [one] : [])));
    const ended = new Set(lesser.flat());
    const kept = created.filter((one) => !ended.has(one)).map(({ creatorId }) => creatorId);
    const count = [...ended].reduce((sum, one) => sum + one.count, 0);
    // A caller who accepts for the user may hold less than the role that somebody else gives.
    const caller = callerOf(call);
    const callers = uncovered(caller, [target]) ? [] : [caller.userId];
    return { count, secret: { userId, keptCreators: [userId, ...callers, ...kept] } };
  };

  async function isLess({ creatorId, isHeldByOthers }: Creations, target: Membership): Promise<boolean> {
    return isHeldByOthers || uncovered({ memberships: await membershipsOf(creatorId) }, [target]) !== undefined;
  }
}

/** Finds a permission of a user that the caller lacks, among those that the user was given while the caller created something for it. */
export function gainedRead(sql: Sql) {
  const membershipsOf = membershipsRead(sql);
  return async (userId: string, call: Call): Promise<Permission | undefined> => {
    const caller = callerOf(call);
    return coversEverybody(caller) ? undefined : uncovered(caller, await membershipsOf(userId))?.permission;
  };
}

/** Makes the check whether the creator of something for a user holds less than the user, and would gain by it; unknown creators do. */
export function holdsLessRead({ sql }: Pick<Deps, "sql">) {
  const membershipsOf = membershipsRead(sql);
  return async (id: string | null, userId: string): Promise<boolean> => {
    if (id === userId) return false;
    const memberships = id === null ? [] : await membershipsOf(id);
    return uncovered({ memberships }, await membershipsOf(userId)) !== undefined;
  };
}

/** Makes the error for a credential whose user was given more meanwhile than the caller may do. */
export const gainedMeanwhile = (permission: Permission) =>
  refuse.because("PERMISSION_DENIED", { params: { permission, problem: "HOLDS_MORE" } });

/**
 * Makes the last step of calls that create codes for users. The statement that gives a role ends the existing codes; a code whose own
 * statement ended later is found here: it ends too, and the call fails.
 */
export function endingOutgrownCodes({ sql }: Pick<Deps, "sql">) {
  const gained = gainedRead(sql);
  return (userId: string, call: Call) =>
    async <A>(answer: A): Promise<A> => {
      const { userId: creatorId } = callerOf(call);
      const permission = userId === creatorId ? undefined : await gained(userId, call);
      if (permission === undefined) return answer;
      await forgetAnswer(sql, call);
      await untilDone(async () => void (await endCodes(sql, userId, creatorId).catch(asLostRace)), aside(call));
      throw gainedMeanwhile(permission);
    };
}

const endCodes = (sql: Sql, userId: string, creatorId: string) => sql`
  with mailed as (delete from mail_codes where user_id = ${userId} and creator_id = ${creatorId})
  delete from phone_codes where user_id = ${userId} and creator_id = ${creatorId}`;

/** SQL for the user who created the access token. For tokens of earlier releases, the column is null, and the log has the answer. */
export const creatorId = (token: string): string => `coalesce(${token}.creator_id, (
    select e.actor from events e where e.owner = ${token}.owner and e.stream = ${token}.token_id and e.version = 1))`;

type Creations = {
  readonly creatorId: string;
  readonly count: number;
  /** Whether the creator is a machine whose roles changed since: others may have held its credentials then, and hold what it created. */
  readonly isHeldByOthers: boolean;
};

// A token created with another counts as created by the creator of that one. Codes do not say when they were created, and end soon.
const creationsRead = (sql: Sql) =>
  load<{ user: string; now: string }, Creations>(sql, {
    asked: `"user" text, now timestamptz`,
    select: `select g.n, g.creator as "creatorId", g.count, exists (
        select from members m join users u on u.user_id = m.user_id and u.kind = 'machine'
        where m.user_id = g.creator and m.changed > g.first) as "isHeldByOthers"
      from (select n, c.creator, count(*)::integer as count, min(c.created) as first from asked cross join lateral (
        with recursive made as (
          select t.token_id, ${creatorId("t")} as creator, t.expiration_date, t.created from access_tokens t where t.user_id = asked."user"
          union
          select t.token_id, made.creator, t.expiration_date, t.created from made join access_tokens t on t.maker_id = made.token_id
        )
        select creator, expiration_date, created from made
        union all select coalesce(creator_id, ''), expiration_date, created from machine_credentials where user_id = asked."user"
        union all select creator_id, expiration_date, null from mail_codes where user_id = asked."user"
        union all select creator_id, expiration_date, null from phone_codes where user_id = asked."user") c
      where c.creator <> asked."user" and coalesce(c.expiration_date, 'infinity') > asked.now
      group by n, c.creator) g`,
  });

/** Ends the access tokens that a user outgrows with a role, and all tokens created with them. */
export const outgrownTokensEnd: Cascade = {
  makes: "access_token.revoked",
  extent: "few",
  select: `select i.n, m.owner, m.token_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from $input i cross join lateral (
             with recursive made as (
               select t.owner, t.token_id, t.version, t.user_id from access_tokens t
               where t.user_id = i.secret->>'userId' and not i.secret->'keptCreators' ? ${creatorId("t")}
               union
               select t.owner, t.token_id, t.version, t.user_id from made join access_tokens t on t.maker_id = made.token_id
             ) select * from made) m`,
};

/** Ends the client secrets and keys that a machine outgrows with a role. */
export const outgrownCredentialsEnd: Cascade = {
  makes: "machine_credential.removed",
  extent: "few",
  select: `select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from $input i join machine_credentials c on c.user_id = i.secret->>'userId'
           where not i.secret->'keptCreators' ? coalesce(c.creator_id, '')`,
};

const codesOf = (table: string) => `delete from ${table} c using $input i
  where c.user_id = i.secret->>'userId' and not i.secret->'keptCreators' ? c.creator_id`;

// At the end of the statement its trigger finds what others created at the same moment, and the command loses its race.
const roleGiven = `insert into roles_given (member_id, user_id, kept_creators)
  select i.stream, i.secret->>'userId', i.secret->'keptCreators' from $input i where i.secret ? 'keptCreators'`;

/** Credentials of a fact that gives a role: ends the codes that its user outgrows, and makes sure that nothing outgrown is left. */
export const outgrownCodesEnd: readonly string[] = [codesOf("mail_codes"), codesOf("phone_codes"), roleGiven];
