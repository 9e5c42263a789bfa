import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { AccountService } from "../../../gen/postern/v1/account_pb.ts";
import type { UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf, systemCall } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import { lostRace } from "../../events/log.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { isLastOwner } from "../members/last_owner.ts";
import { mayErase, restoreDaysOf } from "../policies/privacy_policy.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import type { UserRow } from "./user_row.ts";

/** Erasing users, and restoring them in time. */
export const userErasure = (deps: Deps) => {
  const { log, sql, clock } = deps;
  const userToErase = erasureRead(sql);
  const erased = erasing(deps);

  return {
    async eraseUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (row.isErased) throw refuse.notFound("user", userId);
      return erased(row, call);
    },

    async restoreUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (row.erasureDate === null || row.erasureDate <= clock()) throw refuse.because("ERASURE_NOT_SCHEDULED");
      const at = next(row, clock());
      return log.append(call, [factOf("user", at, { case: "restored", value: {} })], { details: detailsAfter(at) });
    },
  } satisfies Pick<ServiceImpl<typeof UserService>, "eraseUser" | "restoreUser">;

  async function userOf(userId: string, call: Call): Promise<UserToErase> {
    const row = await userToErase({ owner: organizationOf(call), id: userId }, call.signal);
    if (!row) throw refuse.notFound("user", userId);
    return row;
  }
};

/** Makes the erasure of the caller's own account, where the policy allows that. */
export const ownErasure = (deps: Deps, settings: NoticeSettings) => {
  const userToErase = erasureRead(deps.sql);
  const erased = erasing(deps);
  const notice = notices(deps, settings);

  return {
    async eraseMe(_request, call) {
      const { organization: owner, userId: id } = callerOf(call);
      const row = await userToErase({ owner, id }, call.signal);
      if (!row || row.isGone) throw refuse.because("TOKEN_INVALID");
      if (row.kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id } });
      if (!row.selfErasure) throw refuse.because("SELF_ERASURE_OFF");
      // An attacker who took over an account would deprive its owner of the way back.
      if (row.undoUntil && row.undoUntil > deps.clock()) throw refuse.because("EMAIL_UNDOABLE");
      return erased(row, call, notice("account_deleted", call));
    },
  } satisfies Pick<ServiceImpl<typeof AccountService>, "eraseMe">;
};

/** Makes the function that erases a user once nobody can restore the user any more. */
function erasing(deps: Deps) {
  const { log, clock } = deps;
  const begin = erasureBegun(deps);
  return async (row: UserToErase, call: Call, secret: JsonObject = {}) => {
    if (row.lastOwner) throw refuse.because("LAST_OWNER");
    const until = dateOf(row, clock());
    if (row.isGone || until <= clock()) return begin(row, call);
    const erasureDate = timestampFromDate(until);
    if (until.getTime() === row.erasureDate?.getTime())
      return log.append(call, [], { details: details(row), erasureDate });
    const at = next(row, clock());
    const scheduled = factOf("user", at, { case: "erasureScheduled", value: { erasureDate } }, secret);
    return log.append(call, [scheduled], { details: detailsAfter(at), erasureDate });
  };
}

const dayMs = 86_400_000;

/** The time until which a user can be restored. Erasing again does not extend it. */
function dateOf({ erasureDate, restoreDays }: UserToErase, now: Date): Date {
  const date = new Date(now.getTime() + restoreDays * dayMs);
  return erasureDate && erasureDate < date ? erasureDate : date;
}

/** Makes the function that deletes a user for good, with a job that erases personal data from the log. */
const erasureBegun =
  ({ log, clock }: Deps) =>
  (row: Versioned, call: Call, by?: string) => {
    const at = next(row, clock());
    const deleted = { ...factOf("user", at, { case: "deleted", value: { erases: true } }), ...(by && { by }) };
    return log.appendLong(call, deleted, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
  };

type UserToErase = Versioned & {
  /** Whether the user is deleted, or a job is deleting the user. */
  readonly isGone: boolean;
  readonly isErased: boolean;
  /** The time until which the user can be restored; null if the user is not waiting for erasure. */
  readonly erasureDate: Date | null;
  readonly restoreDays: number;
  /** Whether people in the organization may erase their own accounts. */
  readonly selfErasure: boolean;
  /** The time until which a former address can undo its change; null if none can. */
  readonly undoUntil: Date | null;
  /** Null if the user is gone. */
  readonly kind: UserRow["kind"] | null;
  readonly lastOwner: boolean;
};

/** Reads a user from the log, because the user may be deleted. */
const erasureRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, UserToErase>(sql, {
    asked: "owner text, id text",
    select: `select n, asked.owner, asked.id, last.version, f.time as created, last.time as changed,
               u.user_id is null or u.deleted and u.erasure_date is null as "isGone",
               last.type = 'user.erased' or last.type = 'user.deleted' and coalesce((last.payload->>'erases')::boolean, false)
                 as "isErased",
               u.erasure_date as "erasureDate", ${restoreDaysOf("asked.owner")} as "restoreDays",
               ${mayErase("asked.owner")} as "selfErasure", u.kind,
               (select max(c.expiration_date) from mail_codes c where c.user_id = asked.id and c.purpose = 'undo') as "undoUntil",
               ${isLastOwner} as "lastOwner"
             from asked
             join events f on f.owner = asked.owner and f.stream = asked.id and f.version = 1
             cross join lateral (
               select e.version, e.type, e.payload, e.time from events e
               where e.owner = asked.owner and e.stream = asked.id order by e.version desc limit 1) last
             left join all_users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

type Due = Versioned & { readonly actor: string | null; readonly requestId: string };

/** Begins the erasure of users whom nobody can restore any more, in the name of the user who asked for it. */
export function dueErasures(deps: Deps): Chore {
  const begin = erasureBegun(deps);
  return {
    name: "users to erase",
    async batch(most) {
      const due = await usersDue(deps.sql, deps.clock(), Math.min(most, atOnce));
      let begun = 0;
      for (const { actor, requestId, ...row } of due)
        if (await begin(row, systemCall(requestId), actor ?? undefined).catch(lostRace)) begun++;
      return begun === atOnce ? most : 0;
    },
  };
}

const atOnce = 100;

// An organization that is being deleted cannot disappear before its users.
const usersDue = (sql: Sql, now: Date, most: number) => sql<Due[]>`
  select u.owner, u.user_id as id, u.version, u.created, u.changed, e.actor, e.request_id as "requestId"
  from (
    (select * from all_users where erasure_date is not null and erasure_date <= ${now} order by erasure_date limit ${most})
    union
    (select u.* from organizations o join all_users u on u.owner = o.organization_id and u.erasure_date is not null
     where o.deleted limit ${most})
  ) u join events e on e.owner = u.owner and e.stream = u.user_id and e.version = u.version
  limit ${most}`;
