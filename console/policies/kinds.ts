import type {
  FactorPolicyJson,
  FactorRequirementJson,
  LockoutPolicyJson,
  PasswordPolicyJson,
  PrivacyPolicyJson,
  RegistrationAudienceJson,
  RegistrationPolicyJson,
  RetentionPolicyJson,
  SignInPolicyJson,
} from "../../gen/postern/v1/policy_pb.ts";
import type { Draft, Field, Option } from "../parts/field.tsx";
import { policyTexts } from "../texts/policies.ts";
import { type Text, t } from "../texts/text.ts";

/** The policies of the contract, each as its calls name it. */
export type PolicyOf = {
  Password: PasswordPolicyJson;
  Lockout: LockoutPolicyJson;
  Factor: FactorPolicyJson;
  SignIn: SignInPolicyJson;
  Registration: RegistrationPolicyJson;
  Privacy: PrivacyPolicyJson;
  Retention: RetentionPolicyJson;
};
export type PolicyName = keyof PolicyOf;

/** A policy as a form. */
export type PolicyKind<Name extends PolicyName = PolicyName> = {
  readonly title: Text;
  readonly about: Text;
  /** Set if only organizations have it, or only the instance. */
  readonly only?: "organization" | "instance";
  readonly fields: () => readonly Field[];
  readonly valuesOf: (policy: PolicyOf[Name]) => Draft;
  readonly policyOf: (draft: Draft) => PolicyOf[Name];
  /** The texts for resetting it, if that does not lead to the instance's policy or the built-in one. */
  readonly back?: { readonly text: Text; readonly about: Text };
};

const number = (name: string, label: Text): Field => ({ name, label: t(label), kind: "number" });
/** A number for which 0 has a special meaning. */
const orZero = (name: string, label: Text, zero: { readonly help: Text; readonly shown: Text }): Field => ({
  ...number(name, label),
  help: t(zero.help),
  shown: (value) => (value === "0" ? t(zero.shown) : String(value)),
});
const never = { help: policyTexts.zeroNever, shown: policyTexts.never };
const any = { help: policyTexts.zeroAny, shown: policyTexts.anyPassword };
const flag = (name: string, label: Text, help?: Text): Field => ({
  name,
  label: t(label),
  kind: "switch",
  ...(help ? { help: t(help) } : {}),
});

const characters = {
  requiresUpper: policyTexts.upper,
  requiresLower: policyTexts.lower,
  requiresDigit: policyTexts.digit,
  requiresSymbol: policyTexts.symbol,
} as const;
type Character = keyof typeof characters;
const characterNames = Object.keys(characters) as Character[];

const password: PolicyKind<"Password"> = {
  title: policyTexts.password,
  about: policyTexts.passwordAbout,
  fields: () => [
    number("minimumLength", policyTexts.minimumLength),
    {
      name: "requires",
      label: t(policyTexts.requires),
      kind: "checks",
      options: characterNames.map((value) => ({ value, label: t(characters[value]) })),
    },
    orZero("historyDepth", policyTexts.historyDepth, any),
    orZero("maximumAgeDays", policyTexts.maximumAge, never),
    flag("changeAtNextSignIn", policyTexts.changeAtNext),
    flag("resetRequiresVerifiedEmail", policyTexts.resetVerified),
  ],
  valuesOf: (policy) => ({
    minimumLength: String(policy.minimumLength ?? 0),
    requires: characterNames.filter((name) => policy[name]),
    historyDepth: String(policy.historyDepth ?? 0),
    maximumAgeDays: String(policy.maximumAgeDays ?? 0),
    changeAtNextSignIn: policy.changeAtNextSignIn ?? false,
    resetRequiresVerifiedEmail: policy.resetRequiresVerifiedEmail ?? false,
  }),
  policyOf: ({ requires = [], ...draft }) => ({
    minimumLength: Number(draft.minimumLength),
    ...Object.fromEntries(
      characterNames.map((name) => [name, typeof requires === "object" && requires.includes(name)]),
    ),
    historyDepth: Number(draft.historyDepth),
    maximumAgeDays: Number(draft.maximumAgeDays),
    changeAtNextSignIn: draft.changeAtNextSignIn === true,
    resetRequiresVerifiedEmail: draft.resetRequiresVerifiedEmail === true,
  }),
};

const lockKindOf = ({ untilUnlocked, lockDuration }: LockoutPolicyJson): string =>
  untilUnlocked ? "until" : lockDuration ? "fixed" : "growing";

const lockout: PolicyKind<"Lockout"> = {
  title: policyTexts.lockout,
  about: policyTexts.lockoutAbout,
  fields: () => [
    orZero("maximumAttempts", policyTexts.maximumAttempts, never),
    {
      name: "lockKind",
      label: t(policyTexts.lockFor),
      kind: "cards",
      options: [
        { value: "growing", label: t(policyTexts.lockGrowing) },
        { value: "fixed", label: t(policyTexts.lockFixed) },
        { value: "until", label: t(policyTexts.lockUntil), help: t(policyTexts.lockUntilAbout) },
      ],
    },
    { ...number("lockDuration", policyTexts.minutes), isShown: ({ lockKind }) => lockKind === "fixed" },
  ],
  valuesOf: (policy) => ({
    maximumAttempts: String(policy.maximumAttempts ?? 0),
    lockKind: lockKindOf(policy),
    lockDuration: String(Number.parseFloat(policy.lockDuration ?? "900s") / 60),
  }),
  policyOf: ({ maximumAttempts, lockKind, lockDuration }) => ({
    maximumAttempts: Number(maximumAttempts),
    untilUnlocked: lockKind === "until",
    ...(lockKind === "fixed" ? { lockDuration: `${Math.round(Number(lockDuration) * 60)}s` } : {}),
  }),
};

const chosen = (options: readonly (readonly [value: string, label: Text])[]): Option[] =>
  options.map(([value, label]) => ({ value, label: t(label) }));

const factor: PolicyKind<"Factor"> = {
  title: policyTexts.factor,
  about: policyTexts.factorAbout,
  fields: () => [
    {
      name: "requirement",
      label: t(policyTexts.requirement),
      kind: "cards",
      options: chosen([
        ["FACTOR_REQUIREMENT_REQUIRED", policyTexts.factorRequired],
        ["FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS", policyTexts.factorAdministrators],
        ["FACTOR_REQUIREMENT_OPTIONAL", policyTexts.factorOptional],
        ["FACTOR_REQUIREMENT_OFF", policyTexts.factorOff],
      ]),
    },
  ],
  valuesOf: ({ requirement = "FACTOR_REQUIREMENT_OPTIONAL" }) => ({ requirement }),
  policyOf: ({ requirement }) => ({ requirement: requirement as FactorRequirementJson }),
};

const signIn: PolicyKind<"SignIn"> = {
  title: policyTexts.signIn,
  about: policyTexts.signInAbout,
  fields: () => [flag("mailCodes", policyTexts.mailCodes, policyTexts.mailCodesAbout)],
  valuesOf: ({ mailCodes = false }) => ({ mailCodes }),
  policyOf: ({ mailCodes }) => ({ mailCodes: mailCodes === true }),
};

const registration: PolicyKind<"Registration"> = {
  title: policyTexts.registration,
  about: policyTexts.registrationAbout,
  only: "organization",
  back: { text: policyTexts.closeRegistration, about: policyTexts.closeRegistrationAbout },
  fields: () => [
    {
      name: "audience",
      label: t(policyTexts.audience),
      kind: "cards",
      options: chosen([
        ["REGISTRATION_AUDIENCE_NOBODY", policyTexts.nobody],
        ["REGISTRATION_AUDIENCE_PROVEN_DOMAINS", policyTexts.provenDomains],
        ["REGISTRATION_AUDIENCE_EVERYBODY", policyTexts.everybody],
      ]),
    },
  ],
  valuesOf: ({ audience = "REGISTRATION_AUDIENCE_NOBODY" }) => ({ audience }),
  policyOf: ({ audience }) => ({ audience: audience as RegistrationAudienceJson }),
};

const privacy: PolicyKind<"Privacy"> = {
  title: policyTexts.privacy,
  about: policyTexts.privacyAbout,
  fields: () => [number("restoreDays", policyTexts.restoreDays), flag("selfErasure", policyTexts.selfErasure)],
  valuesOf: ({ restoreDays = 0, selfErasure = false }) => ({ restoreDays: String(restoreDays), selfErasure }),
  policyOf: ({ restoreDays, selfErasure }) => ({
    restoreDays: Number(restoreDays),
    selfErasure: selfErasure === true,
  }),
};

const kept = (name: string, label: Text): Field => ({
  ...number(name, label),
  isOptional: true,
  shown: (value) => (value === "" ? t(policyTexts.always) : t(policyTexts.days, { count: String(value) })),
});

const retention: PolicyKind<"Retention"> = {
  title: policyTexts.retention,
  about: policyTexts.retentionAbout,
  only: "instance",
  back: { text: policyTexts.keepAll, about: policyTexts.keepAllAbout },
  fields: () => [
    kept("signInDays", policyTexts.signInDays),
    kept("administrationDays", policyTexts.administrationDays),
  ],
  valuesOf: ({ signInDays = "", administrationDays = "" }: { signInDays?: unknown; administrationDays?: unknown }) => ({
    signInDays: String(signInDays),
    administrationDays: String(administrationDays),
  }),
  policyOf: (draft) =>
    Object.fromEntries(Object.entries(draft).flatMap(([name, days]) => (days === "" ? [] : [[name, Number(days)]]))),
};

export const policyKinds: { readonly [Name in PolicyName]: PolicyKind<Name> } = {
  Password: password,
  Lockout: lockout,
  Factor: factor,
  SignIn: signIn,
  Registration: registration,
  Privacy: privacy,
  Retention: retention,
};
