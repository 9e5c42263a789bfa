import { type Call, shareOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import type { Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { HashQueueFull, type PasswordBench } from "../../security/password.ts";
import { brokenPasswordRules, MAX_PASSWORD_BYTES } from "../../security/password_rule.ts";
import type { Secrets } from "../../security/secrets.ts";
import { userInForce } from "../callers/in_force.ts";
import type { FactorKindName } from "../policies/factor_kind.ts";
import { type PolicyInForce, policyOfUserColumn } from "../policies/policy.ts";

export type PasswordUser = Versioned & {
  readonly kind: string;
  /** Both the user and its organization are active. */
  readonly active: boolean;
  readonly locked: boolean;
  readonly lockedUntil: Date | null;
  /** Names that the password must not contain. */
  readonly names: readonly (string | null)[];
  readonly hash: string | null;
  /** The time at which the password was set, to distinguish it from a later one. */
  readonly since: string | null;
  readonly setAt: Date | null;
  readonly setByAdministrator: boolean | null;
  /** Whether the password was created as one that must be changed. */
  readonly mustChange: boolean | null;
  /** The earlier hashes, newest first. */
  readonly history: readonly string[];
  /** How many locks wrong passwords have caused since the last correct one. */
  readonly locks: number;
  readonly policy: PolicyInForce;
  /** The kinds of the user's second factors. */
  readonly factorKinds: readonly FactorKindName[];
  /** Whether the user holds an administrator's role anywhere. */
  readonly isAdministrator: boolean;
  /** Whether the user must have a factor, whatever the factor policy says. */
  readonly requiresFactor: boolean;
};

export const passwordColumns = `u.user_id as id, u.owner, u.kind, ${userInForce} as active, u.locked, u.locked_until as "lockedUntil",
  jsonb_build_array(u.username, u.given_name, u.family_name, u.email) as names, p.hash, p.changed::text as since,
  p.changed as "setAt", p.set_by_administrator as "setByAdministrator", p.must_change as "mustChange", u.requires_factor as "requiresFactor",
  coalesce((select jsonb_agg(h.hash order by h.changed desc) from password_history h where h.user_id = u.user_id), '[]')
    as history,
  coalesce((select a.locks from password_attempts a where a.user_id = u.user_id), 0) as locks,
  coalesce((select jsonb_agg(distinct f.kind) from factors f where f.user_id = u.user_id), '[]') as "factorKinds",
  exists (select from members m where m.user_id = u.user_id) as "isAdministrator",
  ${policyOfUserColumn("u")} as policy, u.version, u.created, u.changed`;

export const passwordUserRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, PasswordUser>(sql, {
    asked: "owner text, id text",
    select: `select n, ${passwordColumns}
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join passwords p on p.user_id = u.user_id`,
  });

/** Whether a lock is in force. */
export function isLocked({ locked, lockedUntil }: Pick<PasswordUser, "locked" | "lockedUntil">, now: Date): boolean {
  return locked && (lockedUntil === null || lockedUntil > now);
}

/** A user with a password that can be checked. */
export type TriedUser = PasswordUser & { readonly hash: string };

export function isTried(user: PasswordUser): user is TriedUser {
  return user.kind === "human" && user.active && user.hash !== null;
}

const dayMs = 86_400_000;

/** The reason why the password must be changed at sign-in: it was created that way, or the policy says so. Undefined if it need not be. */
export function changeReason(
  { policy, setAt, setByAdministrator, mustChange }: PasswordUser,
  now: Date,
): "first" | "administrator" | "age" | undefined {
  if (mustChange) return "first";
  if (policy.changeAtNextSignIn && setByAdministrator) return "administrator";
  const { maximumAgeDays } = policy;
  const isOld = maximumAgeDays > 0 && setAt !== null && now.getTime() - setAt.getTime() >= maximumAgeDays * dayMs;
  return isOld ? "age" : undefined;
}

/** A new password, with the policy and the names to check it against. */
export type NewPassword = {
  /** The request field. */
  readonly field: string;
  readonly password: string;
  readonly names: readonly (string | null)[];
  readonly policy: PolicyInForce;
};

/** Refuses a password, reporting every policy rule that it breaks. */
export function refuseBroken(wanted: NewPassword, secrets: Pick<Secrets, "common">): void {
  const violations = policyViolations(wanted, secrets);
  if (violations.length > 0) throw refuse.because("PASSWORD_POLICY", { violations });
}

export function policyViolations(
  { field, password, names, policy }: NewPassword,
  { common }: Pick<Secrets, "common">,
): Violation[] {
  const rules = {
    minLength: policy.minimumLength,
    upper: policy.requiresUpper,
    lower: policy.requiresLower,
    digit: policy.requiresDigit,
    symbol: policy.requiresSymbol,
  };
  const own = names.filter((name) => name !== null);
  const params = { min: policy.minimumLength, max: MAX_PASSWORD_BYTES };
  return brokenPasswordRules(password, rules, { common, names: own }).map((reason) => ({
    field,
    text: reason,
    params,
    reason,
  }));
}

/** Refuses a password that matches one of the earlier hashes. */
export async function refuseReused(bench: PasswordBench, password: string, earlier: readonly string[]): Promise<void> {
  for (const hash of earlier) {
    if (await bench.verify(hash, password)) throw refuse.because("PASSWORD_REUSED", { violations: [reused] });
  }
}

const reused: Violation = { field: "newPassword", text: "PASSWORD_REUSED", reason: "PASSWORD_REUSED" };

/** The secret of a fact that sets a password: the hash, and how many earlier ones to keep. */
export const passwordSecret = (hash: string, { historyDepth }: PolicyInForce) => ({ hash, depth: historyDepth });

/** Credentials of a new user, with or without a password. */
export const firstPassword: readonly string[] = [
  `insert into passwords (user_id, owner, hash, changed, imported, set_by_administrator, must_change)
   select i.stream, i.owner, i.secret->>'hash', i.time, coalesce((i.secret->>'imported')::boolean, false),
     not coalesce((i.secret->>'imported')::boolean, false) and not coalesce((i.secret->>'ownChoice')::boolean, false),
     coalesce((i.secret->>'mustChange')::boolean, false)
   from $input i where i.secret->>'hash' is not null`,
];

// A statement that ends a user's sessions must lose its race to a sign-in that it does not see: `q` is the row when the statement began,
// `p` the row once locked, and the foreign key rejects a difference.
const seesSignIns = (columns = "") => `
  update passwords p set ${columns}sign_ins = p.sign_ins + 1,
    user_id = case when p.sign_ins = q.sign_ins then p.user_id else 'came meanwhile' end
  from $input i join passwords q on q.user_id = i.stream where p.user_id = i.stream`;

/** Credentials of a fact that ends all of a user's sign-ins. */
export const endSignIns: readonly string[] = [seesSignIns()];

/** Credentials of a sign-in, which is counted if the password is still the one that was checked. */
export const countSignIn: readonly string[] = [
  `update passwords p set sign_ins = p.sign_ins + 1, last_sign_in = checked.time, hash = coalesce(checked.rehashed, p.hash),
     imported = p.imported and checked.rehashed is null
   from (
     select q.user_id, i.time, i.secret->>'rehashed' as rehashed from $input i join passwords q on q.user_id = i.payload->>'userId'
     where q.changed::text = i.secret->>'since' order by q.user_id for update of q
   ) checked where p.user_id = checked.user_id`,
];

/**
 * Credentials of a token that a user creates in a session. A statement that ends both without seeing the token loses its race, as it does
 * to a sign-in.
 */
export const countOfSession = `
  update passwords p set sign_ins = p.sign_ins + 1
  from (
    select q.user_id from $input i join passwords q on q.user_id = i.payload->>'userId'
    where (i.secret->>'isOfSession')::boolean order by q.user_id for update of q
  ) made where p.user_id = made.user_id`;

const byAdministrator = "coalesce((i.payload->>'byAdministrator')::boolean, false)";

/** Credentials of a fact that replaces a password and keeps the old one in the history. */
export const replacePassword: readonly string[] = [
  seesSignIns(
    `hash = i.secret->>'hash', changed = i.time, imported = false, must_change = false, set_by_administrator = ${byAdministrator}, `,
  ),
  `insert into passwords (user_id, owner, hash, changed, set_by_administrator)
   select i.stream, i.owner, i.secret->>'hash', i.time, ${byAdministrator} from $input i
   where not exists (select from passwords q where q.user_id = i.stream)`,
  `insert into password_history (user_id, hash, changed)
   select p.user_id, p.hash, p.changed from $input i join passwords p on p.user_id = i.stream
   where (i.secret->>'depth')::integer > 0 on conflict do nothing`,
  `delete from password_history h using $input i
   where h.user_id = i.stream and h.changed not in (
     select k.changed from password_history k where k.user_id = i.stream
     order by k.changed desc limit greatest((i.secret->>'depth')::integer - 1, 0))`,
];

/** The count of attempts during a lock; no more can be counted until the lock expires. */
export const spent = 2 ** 31 - 1;

/** Credentials of a fact that resets the count of wrong passwords. */
export const clearAttempts: readonly string[] = [
  `delete from password_attempts a using $facts f where a.user_id = f.stream`,
  `delete from password_change_attempts a using $facts f where a.user_id = f.stream`,
  `delete from sign_in_failures s using $facts f where s.subject = f.stream`,
];

/** Credentials of a lock: no attempts are left until it expires. */
export const spendAttempts: readonly string[] = [
  `update password_attempts a set attempts = ${spent}, locks = a.locks + 1 from $facts f where a.user_id = f.stream`,
];

/** The position of a call in the hash queue. */
export const placeOf = (call: Call) => ({ signal: call.signal, share: shareOf(call) });

/** Runs a hashing job; a full queue fails the call at once. */
export async function hashing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof HashQueueFull)) throw cause;
    throw refuse.because("OVERLOADED", { retrySeconds: cause.retrySeconds, cause });
  }
}
