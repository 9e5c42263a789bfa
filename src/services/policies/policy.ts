import { create, equals } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  LockoutPolicySchema,
  PasswordPolicySchema,
  type PolicyService,
  SetLockoutPolicyRequestSchema,
} from "../../../gen/postern/v1/policy_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { type At, details, detailsAfter, factOf, first, next, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";

export const policyService = ({ log, sql, clock }: Deps) => {
  const passwordsOf = rowInForce<Passwords>(sql, passwordTable);
  const lockoutOf = rowInForce<Lockouts>(sql, lockoutTable);
  const ownPasswords = ownRow<Passwords>(sql, passwordTable);
  const ownLockout = ownRow<Lockouts>(sql, lockoutTable);

  return {
    async getPasswordPolicy(request, call) {
      const row = await passwordsOf({ owner: organizationOf(call) }, call.signal);
      return { policy: passwordPolicy(row ?? builtInPassword), ...standing(row, request, call) };
    },

    async setPasswordPolicy(request, call) {
      const policy = given(request.policy);
      const row = await ownPasswords(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && equals(PasswordPolicySchema, policy, create(PasswordPolicySchema, passwordPolicy(row))))
        return log.append(call, [], { details: details(row) });
      const at = place(row, call, passwordStream);
      const set = factOf("policy", at, { case: "passwordSet", value: policy });
      return log.append(call, [set], { details: detailsAfter(at) });
    },

    async getLockoutPolicy(request, call) {
      const row = await lockoutOf({ owner: organizationOf(call) }, call.signal);
      return { policy: lockoutPolicy(row ?? builtInLockout), ...standing(row, request, call) };
    },

    async setLockoutPolicy(request, call) {
      const policy = given(request.policy);
      const row = await ownLockout(call);
      refuseOvertakenPolicy(row, request);
      if (row.isSet && equals(LockoutPolicySchema, policy, create(LockoutPolicySchema, lockoutPolicy(row))))
        return log.append(call, [], { details: details(row) });
      const at = place(row, call, lockoutStream);
      const set = factOf("policy", at, { case: "lockoutSet", value: policy });
      return log.append(call, [set], { details: detailsAfter(at) });
    },

    async resetPasswordPolicy(_request, call) {
      const row = await ownPasswords(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("policy", at, { case: "passwordReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },

    async resetLockoutPolicy(_request, call) {
      const row = await ownLockout(call);
      if (!row.isSet) return log.append(call, [], {});
      const at = next(row, clock());
      const reset = factOf("policy", at, { case: "lockoutReset", value: {} });
      return log.append(call, [reset], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof PolicyService>>;

  function place(row: OwnRow<unknown>, call: Call, stream: string): At {
    return placeOf(row, { owner: organizationOf(call), stream, now: clock() });
  }
};

type Expecting = { readonly expectedSequence?: bigint | undefined };

/** Refuses to replace a policy if its version is not the expected one; a policy that is not set has version 0. */
export function refuseOvertakenPolicy(row: OwnRow<unknown>, { expectedSequence }: Expecting): void {
  refuseOvertaken({ version: row.isSet ? row.version : 0n }, expectedSequence);
}

/** The position of the next fact. If a policy was reset, setting it again starts afresh but continues the stream. */
export function placeOf(
  row: OwnRow<unknown>,
  { owner, stream, now }: { owner: string; stream: string; now: Date },
): At {
  if (row.isSet) return next(row, now);
  const at = first(owner, stream, now);
  if (row.version === null || row.changed === null) return at;
  return { ...at, version: row.version + 1n, time: at.time < row.changed ? row.changed : at.time };
}

const passwordStream = "password-policy";
const lockoutStream = "lockout-policy";

export const factorStream = "factor-policy";
export const privacyStream = "privacy-policy";
export const retentionStream = "retention-policy";
export const registrationStream = "registration-policy";
export const signInStream = "sign-in-policy";

/** The streams of policy facts, one of each in every organization, so no object may use one of them as its id. */
export const policyStreams: readonly string[] = [
  passwordStream,
  lockoutStream,
  factorStream,
  privacyStream,
  retentionStream,
  registrationStream,
  signInStream,
];

export const policyRules = [
  messageRule(SetLockoutPolicyRequestSchema, ({ policy }) =>
    policy?.lockDuration && policy.untilUnlocked ? [lockOfTwoLengths] : [],
  ),
];

const lockOfTwoLengths: Violation = {
  field: "policy.lockDuration",
  text: "FIELD_ABSENT",
  params: { other: "untilUnlocked" },
  reason: "LOCK_DURATION_UNTIL_UNLOCKED",
};

export const policyFolds = {
  passwordSet: {
    views: [
      `insert into password_policies as p (owner, minimum_length, requires_upper, requires_lower, requires_digit,
         requires_symbol, history_depth, change_at_next_sign_in, maximum_age_days, reset_requires_verified_email, version,
         created, changed)
       select f.owner, (f.payload->>'minimumLength')::integer, (f.payload->>'requiresUpper')::boolean,
         (f.payload->>'requiresLower')::boolean, (f.payload->>'requiresDigit')::boolean,
         (f.payload->>'requiresSymbol')::boolean, (f.payload->>'historyDepth')::integer,
         coalesce((f.payload->>'changeAtNextSignIn')::boolean, false),
         coalesce((f.payload->>'maximumAgeDays')::integer, 0),
         coalesce((f.payload->>'resetRequiresVerifiedEmail')::boolean, false), f.version, f.time, f.time
       from $facts f
       on conflict (owner) do update set minimum_length = excluded.minimum_length,
         requires_upper = excluded.requires_upper, requires_lower = excluded.requires_lower,
         requires_digit = excluded.requires_digit, requires_symbol = excluded.requires_symbol,
         history_depth = excluded.history_depth, change_at_next_sign_in = excluded.change_at_next_sign_in,
         maximum_age_days = excluded.maximum_age_days,
         reset_requires_verified_email = excluded.reset_requires_verified_email, version = excluded.version, changed = excluded.changed`,
    ],
  },
  lockoutSet: {
    views: [
      `insert into lockout_policies as l (owner, maximum_attempts, lock_seconds, until_unlocked, version, created, changed)
       select f.owner, (f.payload->>'maximumAttempts')::integer,
         rtrim(f.payload->>'lockDuration', 's')::double precision,
         coalesce((f.payload->>'untilUnlocked')::boolean, false), f.version, f.time, f.time
       from $facts f
       on conflict (owner) do update set maximum_attempts = excluded.maximum_attempts,
         lock_seconds = excluded.lock_seconds, until_unlocked = excluded.until_unlocked, version = excluded.version, changed = excluded.changed`,
    ],
  },
  passwordReset: { views: [`delete from password_policies p using $facts f where p.owner = f.owner`] },
  lockoutReset: { views: [`delete from lockout_policies l using $facts f where l.owner = f.owner`] },
} satisfies Pick<NounFolds<"policy">, "passwordSet" | "lockoutSet" | "passwordReset" | "lockoutReset">;

/** The policies in force for an organization's users. */
export type PolicyInForce = {
  readonly minimumLength: number;
  readonly requiresUpper: boolean;
  readonly requiresLower: boolean;
  readonly requiresDigit: boolean;
  readonly requiresSymbol: boolean;
  readonly historyDepth: number;
  /** A password set by an administrator must be changed at the next sign-in. */
  readonly changeAtNextSignIn: boolean;
  /** The age in days at which a password must be changed; 0 for no limit. */
  readonly maximumAgeDays: number;
  /** A reset by login name needs a verified address, as one by address always does. */
  readonly resetRequiresVerifiedEmail: boolean;
  /** The number of wrong passwords in a row that lock a user; 0 never locks. */
  readonly maximumAttempts: number;
  /** The duration of every lock; null if each lock lasts longer than the one before. */
  readonly lockSeconds: number | null;
  /** The shortest lock if each lasts longer than the one before; only for users with a role on the instance. */
  readonly leastLockSeconds?: number | null;
  /** Locks last until an administrator ends them. */
  readonly untilUnlocked: boolean;
  /** The users who need a second factor: a FactorRequirement, by its name in the contract. */
  readonly factorRequirement: string;
};

/** The policies in force in an organization as one jsonb column, a PolicyInForce, for reads of other services. */
export const policyColumn = (owner: string) => `(
  select jsonb_build_object(
    'minimumLength', coalesce(p.minimum_length, ${builtInPassword.minimumLength}),
    'requiresUpper', coalesce(p.requires_upper, ${builtInPassword.requiresUpper}),
    'requiresLower', coalesce(p.requires_lower, ${builtInPassword.requiresLower}),
    'requiresDigit', coalesce(p.requires_digit, ${builtInPassword.requiresDigit}),
    'requiresSymbol', coalesce(p.requires_symbol, ${builtInPassword.requiresSymbol}),
    'historyDepth', coalesce(p.history_depth, ${builtInPassword.historyDepth}),
    'changeAtNextSignIn', coalesce(p.change_at_next_sign_in, ${builtInPassword.changeAtNextSignIn}),
    'maximumAgeDays', coalesce(p.maximum_age_days, ${builtInPassword.maximumAgeDays}),
    'resetRequiresVerifiedEmail', coalesce(p.reset_requires_verified_email, ${builtInPassword.resetRequiresVerifiedEmail}),
    ${lockoutEntries},
    'factorRequirement', coalesce(f.requirement, '${builtInFactorRequirement}'))
  from instance
    left join lateral (${nearest("password_policies", owner)}) p on true
    left join lateral (${nearest("lockout_policies", owner)}) l on true
    left join lateral (${nearest("factor_policies", owner)}) f on true)`;

/**
 * The policies in force for a user `u` as one jsonb column, a PolicyInForce: normally those of its organization. For a user with a role on
 * the instance, each rule is the stricter of the organization's and the instance's: an organization's administrators may weaken its
 * policies, but not the protection of the instance. Without the offsets, PostgreSQL would inline the whole subquery for each field that is
 * read from it: thirty subqueries to plan, and to set up in each run.
 */
export const policyOfUserColumn = (user: string) => `(
  select case when exists (select from members m where m.user_id = ${user}.user_id and m.scope = 'instance')
    then (select ${stricter} from (select ${policyColumn("instance_id")} as policy offset 0) i)
    else o.policy end
  from (select ${policyColumn(`${user}.owner`)} as policy offset 0) o)`;

const either = (rule: string) => `'${rule}', (o.policy->>'${rule}')::boolean or (i.policy->>'${rule}')::boolean`;
const greater = (rule: string) =>
  `'${rule}', greatest((o.policy->>'${rule}')::numeric, (i.policy->>'${rule}')::numeric)`;
// 0 means no limit.
const lesser = (rule: string) =>
  `'${rule}', coalesce(least(nullif((o.policy->>'${rule}')::integer, 0), nullif((i.policy->>'${rule}')::integer, 0)), 0)`;

const lockSeconds = ["o", "i"].map((of) => `(${of}.policy->>'lockSeconds')::numeric`);

// Without a fixed duration, each lock lasts longer. If one of the policies has a fixed one, a lock lasts at least that long.
const longer = `'lockSeconds', case when ${lockSeconds.join(" + ")} is not null then greatest(${lockSeconds.join()}) end,
      'leastLockSeconds', greatest(${lockSeconds.join()})`;

// From the most lenient to the strictest.
const requirements = ["OFF", "OPTIONAL", "REQUIRED_FOR_ADMINISTRATORS", "REQUIRED"].map(
  (name) => `FACTOR_REQUIREMENT_${name}`,
);

/** Combines the policies `o.policy` of an organization and `i.policy` of the instance. */
const stricter = `jsonb_build_object(
      ${["requiresUpper", "requiresLower", "requiresDigit", "requiresSymbol"].map(either).join(", ")},
      ${["changeAtNextSignIn", "resetRequiresVerifiedEmail", "untilUnlocked"].map(either).join(", ")},
      ${["minimumLength", "historyDepth"].map(greater).join(", ")},
      ${["maximumAgeDays", "maximumAttempts"].map(lesser).join(", ")}, ${longer},
      'factorRequirement', (select r from unnest('{${requirements.join()}}'::text[]) with ordinality as r (r, strictness)
        where r in (o.policy->>'factorRequirement', i.policy->>'factorRequirement') order by strictness desc limit 1))`;

/** The factor requirement if no policy sets one. */
export const builtInFactorRequirement = "FACTOR_REQUIREMENT_OPTIONAL";

const builtInPassword = {
  minimumLength: 8,
  requiresUpper: true,
  requiresLower: true,
  requiresDigit: true,
  requiresSymbol: true,
  historyDepth: 0,
  changeAtNextSignIn: false,
  maximumAgeDays: 0,
  resetRequiresVerifiedEmail: false,
};
const builtInLockout = { maximumAttempts: 10, lockSeconds: null, untilUnlocked: false };

const lockoutEntries = `'maximumAttempts', coalesce(l.maximum_attempts, ${builtInLockout.maximumAttempts}),
    'lockSeconds', l.lock_seconds, 'untilUnlocked', coalesce(l.until_unlocked, ${builtInLockout.untilUnlocked})`;

/** The instance's lockout policy as one jsonb column, a Lockouts. */
export const instanceLockoutColumn = `(
  select jsonb_build_object(${lockoutEntries}) from instance left join lockout_policies l on l.owner = instance_id)`;

export type Lockouts = Pick<PolicyInForce, "maximumAttempts" | "lockSeconds" | "untilUnlocked">;
type Passwords = Omit<PolicyInForce, keyof Lockouts | "factorRequirement">;

const passwords = `minimum_length as "minimumLength", requires_upper as "requiresUpper", requires_lower as "requiresLower",
  requires_digit as "requiresDigit", requires_symbol as "requiresSymbol", history_depth as "historyDepth",
  change_at_next_sign_in as "changeAtNextSignIn", maximum_age_days as "maximumAgeDays",
  reset_requires_verified_email as "resetRequiresVerifiedEmail"`;
const lockouts = `maximum_attempts as "maximumAttempts", lock_seconds as "lockSeconds", until_unlocked as "untilUnlocked"`;

/** The row of the organization's own policy, otherwise of the instance's; `instance` has to be among the tables. */
export const nearest = (table: string, owner: string) =>
  `select q.* from ${table} q where q.owner in (${owner}, instance_id) order by q.owner = ${owner} desc limit 1`;

/** A table of policies, the columns of a policy, and the stream of its facts. */
export type PolicyTable = { readonly table: string; readonly columns: string; readonly stream: string };

const passwordTable: PolicyTable = { table: "password_policies", columns: passwords, stream: passwordStream };
const lockoutTable: PolicyTable = { table: "lockout_policies", columns: lockouts, stream: lockoutStream };

/** An organization's own policy; if it was reset, the last fact about it. */
export type OwnRow<P> =
  | (Versioned & P & { readonly isSet: true })
  | { readonly isSet: false; readonly version: bigint | null; readonly changed: Date | null };

export function ownRow<P>(sql: Sql, { table, columns, stream }: PolicyTable): (call: Call) => Promise<OwnRow<P>> {
  const read = loadOne<{ owner: string }, OwnRow<P>>(sql, {
    asked: "owner text",
    select: `select n, p.owner is not null as "isSet", p.owner, '${stream}' as id, ${columns}, e.version, p.created,
               e.time as changed
             from asked left join ${table} p on p.owner = asked.owner
             left join lateral (
               select e.version, e.time from events e
               where e.owner = asked.owner and e.stream = '${stream}' order by e.version desc limit 1) e on true`,
  });
  return async (call) =>
    (await read({ owner: organizationOf(call) }, call.signal)) ?? { isSet: false, version: null, changed: null };
}

export function rowInForce<P>(sql: Sql, { table, columns, stream }: PolicyTable) {
  return loadOne<{ owner: string }, Versioned & P>(sql, {
    asked: "owner text",
    select: `select n, p.owner, '${stream}' as id, ${columns}, version, created, changed
             from asked cross join instance cross join lateral (${nearest(table, "asked.owner")}) p`,
  });
}

const passwordPolicy = ({ minimumLength, requiresUpper, requiresLower, ...rest }: Passwords) => ({
  minimumLength,
  requiresUpper,
  requiresLower,
  requiresDigit: rest.requiresDigit,
  requiresSymbol: rest.requiresSymbol,
  historyDepth: rest.historyDepth,
  changeAtNextSignIn: rest.changeAtNextSignIn,
  maximumAgeDays: rest.maximumAgeDays,
  resetRequiresVerifiedEmail: rest.resetRequiresVerifiedEmail,
});

const lockoutPolicy = ({ maximumAttempts, lockSeconds, untilUnlocked }: Lockouts) => ({
  maximumAttempts,
  untilUnlocked,
  ...(lockSeconds === null ? {} : { lockDuration: durationFromMs(Math.round(lockSeconds * 1000)) }),
});

function own<R extends Versioned>(row: R | undefined, call: Call): R | undefined {
  return row?.owner === organizationOf(call) ? row : undefined;
}

/** Describes a policy in a response: whether it is the default, and its details. */
export function standing(row: Versioned | undefined, { instance }: { instance: boolean }, call: Call) {
  return { isDefault: instance || !own(row, call), ...(row ? { details: details(row) } : {}) };
}

/** The policy that a request sets; validation guarantees that there is one. */
export function given<P>(policy: P | undefined): P {
  if (policy === undefined) throw refuse.invalid([{ field: "policy", text: "FIELD_REQUIRED", reason: "REQUIRED" }]);
  return policy;
}
