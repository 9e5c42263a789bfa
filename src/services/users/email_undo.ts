import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import { type Call, callerOf, type Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import type { Fold } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { makeUndoCode, sealMail, undoCodeMacs } from "../../security/mailed_secret.ts";
import { isMultiFactor } from "../callers/authentication_class.ts";
import { userInForce } from "../callers/in_force.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { holdsLessRead } from "../members/ended_by_role.ts";
import { endSignIns } from "../passwords/password.ts";
import { browsersEnd, sessionsEnd, tokensEnd } from "../sessions/sign_ins_end.ts";
import { type NoticeSettings, noticeSeconds, notices } from "../verification/notice.ts";
import { dropPhoneCode } from "../verification/phone_code.ts";
import { touchUser } from "../writing/touch_user.ts";

/** A user whose verified address is being replaced, and the state that decides whether that can be undone. */
export type FormerAddress = {
  readonly id: string;
  readonly qualifiedName: string;
  readonly email: string | null;
  readonly verified: boolean;
  /** The user who set the address; null if that is unknown. */
  readonly emailSetter: string | null;
  /** The methods with which the call's session began (RFC 8176); null if the call has no session. */
  readonly amr: readonly string[] | null;
  /** Whether the user has had a factor for longer than a change can be undone. */
  readonly hasOldFactor: boolean;
  /** The number of earlier changes that can still be undone. */
  readonly undoable: number;
};

// The first ones count, so that nobody can crowd them out.
const mostUndoable = 10;

/**
 * Makes the part of a changed address's secret that holds the notice to the old address. It has a code to undo the change if users made it
 * without a second factor that they have had for longer than the code is valid: somebody who took over an account could add one first. The
 * user who set the old address counts as the creator of the code, because they may read it.
 */
export function noticeOfChange(deps: Deps, settings: NoticeSettings) {
  const notice = notices(deps, settings);
  const holdsLess = holdsLessRead(deps);
  return async (user: FormerAddress, call: Call) => {
    const { id: userId, qualifiedName: loginName, email, verified, emailSetter: creatorId } = user;
    if (callerOf(call).userId !== userId)
      return { endsUndo: true, ...(verified ? notice("email_replaced", call) : {}) };
    if (email === null || !verified) return {};
    const isFinal = (user.hasOldFactor && isMultiFactor(user.amr ?? [])) || user.undoable >= mostUndoable;
    if (isFinal || (await holdsLess(creatorId, userId))) return notice("email_replaced", call);
    const { notice: made } = notice("email_changed", call);
    if (!made) return {};
    const { code, mac } = makeUndoCode(deps.secrets.keyring);
    const id = String(made.id);
    const sealed = Buffer.from(sealMail(deps.secrets.keyring, { id, email }, [{ loginName, code }])).toString("hex");
    const expirationDate = new Date(deps.clock().getTime() + noticeSeconds * 1000).toISOString();
    return { notice: { ...made, sealed }, undo: { id, email, mac: mac.toString("hex"), expirationDate, creatorId } };
  };
}

// Rows of earlier releases lack the column, and so do those of restored addresses. Events of changes are few among a user's events.
const mostEvents = 1_000;

/** SQL for the user who set the address of the user `u`; null if that is unknown. */
export const emailSetter = `coalesce(u.email_setter, (
    select e.actor from (
      select * from events where owner = u.owner and stream = u.user_id order by version desc limit ${mostEvents}) e
    where e.type in ('user.human_created', 'user.email_changed') and e.payload->>'email' = u.email
    order by e.version desc limit 1))`;

/**
 * Credentials of a changed address that the old address can undo. An administrator's change ends the codes of earlier ones: administrators
 * decide whose mailboxes these are. If the creator is unknown, no role that the user gets is covered by the creator's.
 */
export const keepUndoCode: readonly string[] = [
  `insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id)
   select c.undo->>'id', i.owner, i.stream, 'undo', c.undo->>'email', c.undo->>'id', decode(c.undo->>'mac', 'hex'),
     (c.undo->>'expirationDate')::timestamptz, coalesce(c.undo->>'creatorId', '')
   from $input i cross join lateral (select i.secret->'undo' as undo) c where c.undo is not null`,
  `delete from mail_codes c using $input i where c.user_id = i.stream and c.purpose = 'undo' and i.secret->'endsUndo' is not null`,
];

/** The maximum number of wrong codes from one address per minute on this node. */
export type UndoSettings = { readonly signInFailuresPerAddressPerMinute: number };

/** Makes the restoring of a former address, by the code from its mail, unless its setter by now holds less than the user. */
export function emailUndo(deps: Deps, settings: UndoSettings) {
  const { log, sql, clock, secrets, failureRate, noteAttempt } = deps;
  const userByCode = userByUndoCode(sql);
  const holdsLess = holdsLessRead(deps);
  const guesses = failureRate("codes of former addresses", settings.signInFailuresPerAddressPerMinute);
  return async (code: string, call: Call): Promise<void> => {
    const uncount = countNetwork(guesses, call);
    const macs = undoCodeMacs(secrets.keyring, code).map((mac) => mac.toString("hex"));
    const user = await userByCode({ macs, now: clock().toISOString() }, call.signal);
    if (!user || (await holdsLess(user.creatorId, user.id))) {
      noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.FORMER_EMAIL } }, undefined, call);
      throw refuse.because("CODE_INVALID");
    }
    uncount();
    const at = next(user, clock());
    const restored = factOf(
      "user",
      at,
      { case: "emailRestored", value: { email: user.email } },
      { codeId: user.codeId },
    );
    await log.append(call, [restored], { details: detailsAfter(at) });
  };
}

const restored = `email = f.payload->>'email', email_verified = true, email_setter = null,
  proven_email = lower(f.payload->>'email')`;

const gone = (table: string) => `delete from ${table} t using $facts f where t.user_id = f.stream`;

/**
 * The fold of a restored address ends whatever somebody else may have obtained by now, but neither the password nor any factor. Codes of
 * earlier changes remain valid: an attacker who took over the account may have set the restored address. The log records who set it.
 */
export const emailRestored: Fold = {
  views: [touchUser(restored)],
  unknownBefore: { table: "users", column: "email_setter" },
  credentials: [
    ...endSignIns,
    ...dropPhoneCode,
    `delete from mail_codes c using $input i
     where c.user_id = i.stream and (c.purpose <> 'undo' or c.mail_code_id >= i.secret->>'codeId')`,
    gone("pending_sessions"),
    gone("factor_enrolments"),
    gone("known_browsers"),
    browsersEnd,
  ],
  cascades: [sessionsEnd, tokensEnd()],
};

type UserOfCode = Versioned & { readonly email: string; readonly codeId: string; readonly creatorId: string | null };

const userByUndoCode = (sql: Sql) =>
  loadOne<{ macs: readonly string[]; now: string }, UserOfCode>(sql, {
    asked: "macs text[], now timestamptz",
    select: `select n, u.user_id as id, u.owner, u.version, u.created, u.changed, c.email, c.mail_code_id as "codeId",
               c.creator_id as "creatorId"
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join mail_codes c on c.mac = decode(m.mac, 'hex') and c.purpose = 'undo' and c.expiration_date > asked.now
             join users u on u.owner = c.owner and u.user_id = c.user_id and ${userInForce}`,
  });
