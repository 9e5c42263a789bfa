import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { Config } from "../config/config.ts";
import { contract } from "../contract/services.ts";
import type { Call, Deps } from "../deps.ts";
import { countedAttempts } from "../events/attempt_places.ts";
import type { FactNoun } from "../events/fact.ts";
import { type Folds, foldsByType } from "../events/fold.ts";
import type { Tail } from "../events/follow.ts";
import { type Chore, expiredRecords } from "../events/sweep.ts";
import { logoutChores } from "../notify/logout/outbox.ts";
import { mailChores } from "../notify/mail/outbox.ts";
import { smsChores } from "../notify/sms/outbox.ts";
import { provider } from "../provider/module.ts";
import type { LateRule, MessageRule } from "../rules.ts";
import { accessTokens } from "../services/access_tokens/module.ts";
import { account } from "../services/account/module.ts";
import { applications } from "../services/applications/module.ts";
import { audit } from "../services/audit/module.ts";
import { callers } from "../services/callers/module.ts";
import { consents } from "../services/consents/module.ts";
import { decisions } from "../services/decisions/module.ts";
import { deliveries } from "../services/deliveries/module.ts";
import { domains } from "../services/domains/module.ts";
import { factors } from "../services/factors/module.ts";
import { invitations } from "../services/invitations/module.ts";
import { jobs } from "../services/jobs/module.ts";
import { machineCredentials } from "../services/machine_credentials/module.ts";
import { members } from "../services/members/module.ts";
import type { HandlesEachRpc, Serves } from "../services/module.ts";
import { names } from "../services/names/module.ts";
import { organizations } from "../services/organizations/module.ts";
import { passwords } from "../services/passwords/module.ts";
import type { PasswordResets } from "../services/passwords/password_reset.ts";
import { policies } from "../services/policies/module.ts";
import { projects } from "../services/projects/module.ts";
import { registrations } from "../services/registrations/module.ts";
import { sessions } from "../services/sessions/module.ts";
import type { SignIns } from "../services/sessions/sign_in.ts";
import { subscriptions } from "../services/subscriptions/module.ts";
import { userExports } from "../services/user_exports/module.ts";
import { userGrants } from "../services/user_grants/module.ts";
import { users } from "../services/users/module.ts";
import { verification } from "../services/verification/module.ts";

/** The parts of the runtime that modules may ask for. */
export type Parts = {
  readonly deps: Deps;
  readonly tail: Tail;
  /** Sign-in by password, for calls and pages. */
  readonly signIns: SignIns;
  /** Password resets, for calls and pages. */
  readonly resets: PasswordResets;
  readonly instanceId: string;
};

/**
 * Everything that one noun contributes. `folds` is a plain value, because the log needs it before there are deps. Whatever is declared here
 * takes effect, and nothing has to be listed anywhere else.
 */
type Module = {
  /** The handlers of its rpcs, by the service of the contract that these belong to. */
  readonly serves?: Serves<Parts, Config>;
  /** The SQL that writes its facts to the tables. */
  readonly folds?: Partial<Folds>;
  /** Its cross-field rules; rules of single fields are proto options. */
  readonly rules?: (deps: Deps, settings: Config) => readonly MessageRule[];
  /** Its rules that need the database. */
  readonly lateRules?: (deps: Deps) => readonly LateRule<Call>[];
  /** The deletion of its expired data. */
  readonly chores?: (parts: Parts, settings: Config) => readonly Chore[];
};

const log = {
  chores: ({ deps: { sql, clock } }: Parts, settings: Config) => [
    expiredRecords(sql, clock, settings),
    countedAttempts(sql, clock),
  ],
};
const notify = {
  chores: ({ deps }: Parts) => [...smsChores(deps), ...mailChores(deps), ...logoutChores(deps)],
};

const modules = [
  ...[log, notify, callers, verification],
  ...[account, accessTokens, machineCredentials, passwords, users, userExports, members, sessions, factors, policies],
  ...[organizations, domains, projects, applications, userGrants, invitations, registrations],
  ...[consents, decisions, audit, names, deliveries, subscriptions, jobs, provider],
] as const satisfies readonly Module[];

type FoldsIn<M> = M extends { readonly folds: infer F } ? keyof F : never;

// Does not compile if a noun has no folds.
true satisfies Exclude<FactNoun, FoldsIn<(typeof modules)[number]>> extends never ? true : never;

// Does not compile if an rpc has no handler, or two.
true satisfies HandlesEachRpc<typeof contract, typeof modules>;

const all: readonly Module[] = modules;

export const services: readonly DescService[] = Object.values(contract);

type Making = (parts: Parts, settings: Config) => object;

const serving: readonly Readonly<Record<string, Making>>[] = all.flatMap(({ serves }) => serves ?? []);

/** Registers every service with its handlers, for the gateway or any other Connect adapter. */
export const routesOf =
  (parts: Parts, settings: Config) =>
  (router: ConnectRouter): void => {
    for (const [name, service] of Object.entries(contract))
      router.service(service, Object.assign({}, ...serving.map((makes) => makes[name]?.(parts, settings))));
  };

export const folds = foldsByType(all.flatMap((module) => module.folds ?? []));

/** The cross-field rules of every noun. */
export const rulesOf = (deps: Deps, settings: Config): readonly MessageRule[] =>
  all.flatMap(({ rules }) => rules?.(deps, settings) ?? []);

/**
 * The late rules of every noun. SetPassword and ChangeUserGrant have none: their only other field names the object, without which neither
 * its policy nor its roles are known.
 */
export const lateRulesOf = (deps: Deps): readonly LateRule<Call>[] =>
  all.flatMap(({ lateRules }) => lateRules?.(deps) ?? []);

export const choresOf = (parts: Parts, settings: Config): readonly Chore[] =>
  all.flatMap(({ chores }) => chores?.(parts, settings) ?? []);
