import { type Call, shareOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import type { Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { HashQueueFull, type PasswordBench } from "../../security/password.ts";
import { brokenPasswordRules, MAX_PASSWORD_BYTES } from "../../security/policy.ts";
import type { Secrets } from "../../security/secrets.ts";
import { userInForce } from "../callers/in_force.ts";
import type { FactorKindName } from "../policies/factor_kind.ts";
import { type PolicyInForce, policyOfUserColumn } from "../policies/policy.ts";

/** A user with the state of its password. */
export type PasswordUser = Versioned & {
  readonly kind: string;
  /** Neither the user nor its organization is deactivated. */
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
  /** Whether it was created as one to be changed. */
  readonly mustChange: boolean | null;
  /** The hashes before it, newest first. */
  readonly history: readonly string[];
  /** How often wrong passwords locked it since the last right one. */
  readonly locks: number;
  readonly policy: PolicyInForce;
  /** The kinds of factors that it has beside the password. */
  readonly factorKinds: readonly FactorKindName[];
  /** Whether it holds a role of administration anywhere. */
  readonly isAdministrator: boolean;
  /** Whether it has to have a factor, whatever the factor policy says. */
  readonly requiresFactor: boolean;
};

/** The columns of a PasswordUser, of a user `u` and its password `p`. */
export const passwordColumns = `u.user_id as id, u.owner, u.kind, ${userInForce} as active, u.locked, u.locked_until as "lockedUntil",
  jsonb_build_array(u.username, u.given_name, u.family_name, u.email) as names, p.hash, p.changed::text as since,
  p.changed as "setAt", p.set_by_administrator as "setByAdministrator", p.must_change as "mustChange", u.requires_factor as "requiresFactor",
  coalesce((select jsonb_agg(h.hash order by h.changed desc) from password_history h where h.user_id = u.user_id), '[]')
    as history,
  coalesce((select a.locks from password_attempts a where a.user_id = u.user_id), 0) as locks,
  coalesce((select jsonb_agg(distinct f.kind) from factors f where f.user_id = u.user_id), '[]') as "factorKinds",
  exists (select from members m where m.user_id = u.user_id) as "isAdministrator",
  ${policyOfUserColumn("u")} as policy, u.version, u.created, u.changed`;

/** Reads a user with its password by its id. */
export const passwordUserRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, PasswordUser>(sql, {
    asked: "owner text, id text",
    select: `select n, ${passwordColumns}
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join passwords p on p.user_id = u.user_id`,
  });

/** Reads a user with its password by its login name. */
export const passwordUserByLoginName = (sql: Sql) =>
  loadOne<{ login_name: string }, PasswordUser>(sql, {
    asked: "login_name text",
    select: `select n, ${passwordColumns}
             from asked join login_names l using (login_name)
             join users u on u.owner = l.owner and u.user_id = l.user_id
             left join passwords p on p.user_id = u.user_id`,
  });

/** Whether a lock is in force. */
export function isLocked({ locked, lockedUntil }: Pick<PasswordUser, "locked" | "lockedUntil">, now: Date): boolean {
  return locked && (lockedUntil === null || lockedUntil > now);
}

/** A user whose password can be tried. */
export type TriedUser = PasswordUser & { readonly hash: string };

/** Whether there is a password of the user that can be tried. */
export function isTried(user: PasswordUser): user is TriedUser {
  return user.kind === "human" && user.active && user.hash !== null;
}

const dayMs = 86_400_000;

/** Whether the password has to be changed at sign-in: because it was created so, or by the policy. */
export function mustChange({ policy, setAt, setByAdministrator, mustChange }: PasswordUser, now: Date): boolean {
  if (mustChange) return true;
  if (policy.changeAtNextSignIn && setByAdministrator) return true;
  return (
    policy.maximumAgeDays > 0 && setAt !== null && now.getTime() - setAt.getTime() >= policy.maximumAgeDays * dayMs
  );
}

/** A new password, with the policy and the names that it is checked against. */
export type NewPassword = {
  /** The field of the request. */
  readonly field: string;
  readonly password: string;
  readonly names: readonly (string | null)[];
  readonly policy: PolicyInForce;
};

/** Refuses a password with every rule of the policy that it breaks. */
export function refuseBroken(wanted: NewPassword, secrets: Pick<Secrets, "common">): void {
  const violations = policyViolations(wanted, secrets);
  if (violations.length > 0) throw refuse.because("PASSWORD_POLICY", { violations });
}

/** Finds every rule of the policy that a password breaks. */
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

/** Refuses a password that was used before, as far back as the hashes given. */
export async function refuseReused(bench: PasswordBench, password: string, earlier: readonly string[]): Promise<void> {
  for (const hash of earlier) {
    if (await bench.verify(hash, password)) throw refuse.because("PASSWORD_REUSED", { violations: [reused] });
  }
}

const reused: Violation = { field: "newPassword", text: "PASSWORD_REUSED", reason: "PASSWORD_REUSED" };

/** The secret of a fact that sets a password: the hash, and the number of earlier ones to keep. */
export const passwordSecret = (hash: string, { historyDepth }: PolicyInForce) => ({ hash, depth: historyDepth });

/** Credentials of a new user, who may have a password. */
export const firstPassword: readonly string[] = [
  `insert into passwords (user_id, owner, hash, changed, imported, set_by_administrator, must_change)
   select i.stream, i.owner, i.secret->>'hash', i.time, coalesce((i.secret->>'imported')::boolean, false),
     not coalesce((i.secret->>'imported')::boolean, false), coalesce((i.secret->>'mustChange')::boolean, false)
   from $input i where i.secret->>'hash' is not null`,
];

// A statement that ends a user's sessions loses its race to a sign-in that it does not see: `q` is the row when the statement
// began, `p` the row once its lock is held, and the foreign key refuses the difference.
const seesSignIns = (columns = "") => `
  update passwords p set ${columns}sign_ins = p.sign_ins + 1,
    user_id = case when p.sign_ins = q.sign_ins then p.user_id else 'came meanwhile' end
  from $input i join passwords q on q.user_id = i.stream where p.user_id = i.stream`;

/** Credentials of a fact after which nobody is signed in. */
export const endSignIns: readonly string[] = [seesSignIns()];

/** Credentials of a sign-in, which counts as long as the password is the one that was checked. */
export const countSignIn: readonly string[] = [
  `update passwords p set sign_ins = p.sign_ins + 1, hash = coalesce(checked.rehashed, p.hash),
     imported = p.imported and checked.rehashed is null
   from (
     select q.user_id, i.secret->>'rehashed' as rehashed from $input i join passwords q on q.user_id = i.payload->>'userId'
     where q.changed::text = i.secret->>'since' order by q.user_id for update of q
   ) checked where p.user_id = checked.user_id`,
];

/** Credentials of a token that a user makes in a session: a statement that ends both and does not see it loses the race, as to a sign-in. */
export const countOfSession = `
  update passwords p set sign_ins = p.sign_ins + 1
  from (
    select q.user_id from $input i join passwords q on q.user_id = i.payload->>'userId'
    where (i.secret->>'isOfSession')::boolean order by q.user_id for update of q
  ) made where p.user_id = made.user_id`;

const byAdministrator = "coalesce((i.payload->>'byAdministrator')::boolean, false)";

/** Credentials of a fact that replaces a password, which is kept among the earlier ones. */
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

/** The attempts that ended in a lock; more can be counted only once it ran out. */
export const spent = 2 ** 31 - 1;

/** Credentials of a fact after which wrong passwords are counted from the start. */
export const clearAttempts: readonly string[] = [
  `delete from password_attempts a using $facts f where a.user_id = f.stream`,
  `delete from password_change_attempts a using $facts f where a.user_id = f.stream`,
  `delete from sign_in_failures s using $facts f where s.subject = f.stream`,
];

/** Credentials of the lock: the attempts are spent, until it runs out. */
export const spendAttempts: readonly string[] = [
  `update password_attempts a set attempts = ${spent}, locks = a.locks + 1 from $facts f where a.user_id = f.stream`,
];

/** The place of a call in the line for hashes. */
export const placeOf = (call: Call) => ({ signal: call.signal, share: shareOf(call) });

/** Runs a piece of hashing; a full queue refuses the call at once. */
export async function hashing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof HashQueueFull)) throw cause;
    throw refuse.because("OVERLOADED", { retrySeconds: cause.retrySeconds, cause });
  }
}
