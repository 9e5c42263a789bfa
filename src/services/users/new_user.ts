import type { JsonObject } from "@bufbuild/protobuf";
import {
  type CreateHumanUserRequest,
  CreateHumanUserRequestSchema,
  type CreateMachineUserRequest,
  CreateMachineUserRequestSchema,
} from "../../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { isWithin, refuse, type Violation } from "../../errors.ts";
import { type At, factOf, first, type NewFact } from "../../events/fact.ts";
import type { Condition } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import { chooseLanguage } from "../../messages/language.ts";
import { lateRule, messageRule } from "../../rules.ts";
import { foreignHash, isFault } from "../../security/foreign_hash.ts";
import type { Secrets } from "../../security/secrets.ts";
import { base32Bytes } from "../../security/totp.ts";
import { loginNameOf } from "../callers/login_name.ts";
import { secretContext } from "../factors/factor_read.ts";
import { hashing, passwordSecret, type placeOf, policyViolations } from "../passwords/password.ts";
import { type PolicyInForce, policyColumn, policyStreams } from "../policies/policy.ts";
import { wrongInEmail } from "../verification/email_address.ts";
import type { PhoneSettings } from "../verification/phone_code.ts";
import { phoneNumber, wrongForSms } from "../verification/phone_number.ts";
import { joined, type No } from "../writing/batch_refusal.ts";
import type { Addressee, NewUserMail } from "./new_user_mail.ts";
import { addressOf, addressShown } from "./postal_address.ts";
import { loginNameTaken, nameHolder, ownLoginNames, wrongName } from "./username.ts";

export type NewUserRequest = CreateHumanUserRequest | CreateMachineUserRequest;

/** The names of a new user that are taken. */
export type TakenNames = {
  /** The user who has the login name, and the user's organization. */
  readonly takenBy: string | null;
  readonly takenIn: string | null;
  /** Whether the chosen id was ever used. */
  readonly idUsed: boolean;
  /** Whether names given in the organization are its own. */
  readonly ownLoginNames: boolean;
};

/** The state that decides about a new user. */
export type NewUserFindings = TakenNames & { readonly policy: PolicyInForce };

// The log knows every id ever used, for users and everything else, except for users whose events are no longer kept; concurrent uses of an
// id are decided by chosen_ids.
const takenColumns = `l.user_id as "takenBy", l.owner as "takenIn", ${ownLoginNames},
               asked.user_id is not null and (exists (select from events e where e.stream = asked.user_id offset 0)
                 or exists (select from burned_ids b where b.id = asked.user_id offset 0)) as "idUsed"`;
const withLoginName = `asked ${nameHolder} on true`;

/** The query for the state that decides about a new user. */
export const newUserQuestion = {
  asked: "owner text, login_name text, user_id text",
  select: `select n, ${takenColumns}, ${policyColumn("asked.owner")} as policy
             from ${withLoginName}`,
};

/** The condition of the fact that creates a user: its names are free, and the login name is where the organization's setting places it. */
export const namesAreFree: Condition = {
  asked: `owner, payload->>'loginName' as login_name, case when (payload->>'idChosen')::boolean then stream end as user_id,
    coalesce((payload->>'ownLoginName')::boolean, false) as own`,
  select: `select found.*, "takenBy" is null and not "idUsed" and own = "ownLoginNames" as holds
    from (select n, asked.own, ${takenColumns} from ${withLoginName} offset 0) found`,
};

export const lookupKeyOf = (owner: string, { username, userId }: NewUserRequest) => ({
  owner,
  login_name: loginNameOf(username),
  user_id: userId ?? null,
});

export function newUsers({ sql, ids, clock, secrets }: Pick<Deps, "sql" | "ids" | "clock" | "secrets">) {
  const findingsOf = loadOne<ReturnType<typeof lookupKeyOf>, NewUserFindings>(sql, newUserQuestion);

  return {
    async findings(request: NewUserRequest, call: Call): Promise<NewUserFindings> {
      const found = await findingsOf(lookupKeyOf(organizationOf(call), request), call.signal);
      if (!found) throw new Error("policies are always in force");
      return found;
    },

    /** Finds why a user cannot be created; `path` leads to its item in a batch. */
    refusal: (request: NewUserRequest, findings: NewUserFindings, { call, path }: Place): No | undefined =>
      joined([refusedNames(request, findings, { call, path }), refusedPassword(request, findings, { path, secrets })]),

    /** The position of a user's first fact, under the requested id if there is one. */
    place: ({ userId }: NewUserRequest, call: Call): At => first(organizationOf(call), userId ?? ids(), clock()),

    /** Hashes a new user's password, or takes the hash in the request; undefined if it has neither. */
    async credentials(request: NewUserRequest, { policy }: NewUserFindings, turn: ReturnType<typeof placeOf>) {
      if (!isHuman(request)) return undefined;
      const { password, passwordHash, passwordChangeRequired: mustChange } = request;
      if (passwordHash) return { hash: passwordHash, imported: true, depth: policy.historyDepth, mustChange };
      if (!password) return undefined;
      return { ...passwordSecret(await hashing(secrets.passwords.hash(password, turn)), policy), mustChange };
    },
  };
}

/** The call, and the path of an item in its request. */
export type Place = { readonly call: Call; readonly path: string };

/** A new user's phone, the codes to send, and the secrets that its fact carries. */
export type NewUserExtras = {
  readonly phone?: string | undefined;
  readonly phoneCodeId?: string | undefined;
  readonly mail?: NewUserMail | undefined;
  /** Whether the login name is the organization's own. */
  readonly ownLoginName?: boolean;
  /** Whether one of our mails has reached the address. */
  readonly byMail?: boolean;
  readonly secret?: JsonObject;
};

export function createdFact(at: At, request: NewUserRequest, extras: NewUserExtras): NewFact {
  const { username } = request;
  const named = {
    username,
    loginName: loginNameOf(username),
    ...(request.userId ? chosen : {}),
    ...(request.inactive ? { inactive: true } : {}),
    ...(extras.ownLoginName ? { ownLoginName: true } : {}),
  };
  if (!isHuman(request)) {
    return factOf("user", at, { case: "machineCreated", value: { ...named, name: request.name } });
  }
  const { givenName, familyName, email } = request;
  const value = { ...named, givenName, familyName, email, ...stated(request, extras) };
  const secret = { ...extras.secret, ...extras.mail?.secret };
  return factOf("user", at, { case: "humanCreated", value }, secret);
}

/** A person's contact data, and the requirements of their sign-in, in the form of the fact. */
const stated = (
  { address, isEmailVerified, requiresFactor, language }: CreateHumanUserRequest,
  { phone, phoneCodeId, mail, byMail }: NewUserExtras,
) => ({
  ...(phone ? { phone } : {}),
  ...(phoneCodeId ? { phoneCodeId } : {}),
  ...(isEmailVerified ? { emailVerified: true } : {}),
  ...(byMail ? { byMail } : {}),
  ...(mail ? { emailCodeId: mail.emailCodeId } : {}),
  ...(requiresFactor ? { requiresFactor } : {}),
  ...(language ? { language } : {}),
  ...addressShown(addressOf(address)),
});

/** The new user if their address is to be verified; undefined if no mail is sent. */
export const addresseeOf = ({ stream: id }: At, request: NewUserRequest): Addressee | undefined =>
  isHuman(request) && !request.isEmailVerified && !request.inactive
    ? { id, username: request.username, email: request.email, language: chooseLanguage(request.language) }
    : undefined;

/** Makes the fact that adds the authenticator app in the request. */
export function totpFacts(
  { owner, stream, time }: At,
  request: NewUserRequest,
  { ids, secrets }: Pick<Deps, "ids" | "secrets">,
) {
  if (!isHuman(request) || !request.totpSecret) return [];
  const at = first(owner, ids(), time);
  const sealed = secrets.keyring.seal(base32Bytes(request.totpSecret), secretContext(at.stream));
  const secret = { sealed: Buffer.from(sealed).toString("hex"), step: 0 };
  return [factOf("factor", at, { case: "totpAdded", value: { userId: stream, name: "" } }, secret)];
}

const chosen = { idChosen: true };

export const isHuman = (request: NewUserRequest): request is CreateHumanUserRequest =>
  request.$typeName === CreateHumanUserRequestSchema.typeName;

export const newUserRules = (settings: PhoneSettings) => [
  messageRule(CreateHumanUserRequestSchema, (request) => [
    ...wrongInUser(request),
    ...(request.phone === "" ? [] : wrongForSms(phoneNumber(request.phone, settings.phoneDefaultRegion))),
  ]),
  messageRule(CreateMachineUserRequestSchema, wrongInUser),
];

/** Late rules of requests to create one user: name and id must be free, and the password must satisfy the policy. */
export function newUserLateRules(deps: Parameters<typeof newUsers>[0]) {
  const { findings, refusal } = newUsers(deps);
  const find = async (request: NewUserRequest, call: Call, found: readonly Violation[]) => {
    const sound = withoutWrong(request, found);
    return refusal(sound, await findings(sound, call), { call, path: "" })?.violations ?? [];
  };
  return [lateRule(CreateHumanUserRequestSchema, [], find), lateRule(CreateMachineUserRequestSchema, [], find)];
}

/** The request without fields known to be invalid that only the database could check further; `path` leads to it in a batch. */
export function withoutWrong(request: NewUserRequest, found: readonly Violation[], path = ""): NewUserRequest {
  const isWrong = (name: string) => found.some(({ field }) => isWithin(field, `${path}${name}`));
  const sound = { ...request };
  if (isWrong("username")) sound.username = "";
  if (isWrong("userId")) delete sound.userId;
  if (isHuman(sound) && isWrong("password")) delete sound.password;
  return sound;
}

/** Finds the violations of a new user without asking the database, except those of its phone. */
export function wrongInUser(request: NewUserRequest): Violation[] {
  const ofHuman = isHuman(request) ? [...wrongInEmail(request.email), ...wrongHash(request)] : [];
  return [...wrongName(request), ...reservedId(request), ...ofHuman];
}

function reservedId({ userId = "" }: NewUserRequest): Violation[] {
  const [field, reason] = ["userId", "USER_ID_RESERVED"] as const;
  if (userId === "me") return [{ field, text: "USER_ID_RESERVED", reason }];
  if (!policyStreams.includes(userId)) return [];
  return [{ field, text: "USER_ID_OF_POLICY", params: { id: userId }, reason }];
}

function wrongHash({ password, passwordHash }: CreateHumanUserRequest): Violation[] {
  if (passwordHash === undefined) return [];
  const field = "passwordHash";
  if (password !== undefined)
    return [{ field, text: "FIELD_TOGETHER", params: { other: "password" }, reason: "FIELD_TOGETHER" }];
  const hash = foreignHash(passwordHash);
  if (!isFault(hash)) return [];
  const params = "params" in hash ? hash.params : {};
  return [{ field, text: hash.reason, params, reason: hash.reason }];
}

/** Finds why a user cannot have the requested names. */
export const refusedNames = (request: NewUserRequest, found: TakenNames, { call, path }: Place): No | undefined =>
  joined([refusedName(request, found, { call, path }), refusedId(request, found, path)]);

/** Whether only its names can cause the refusal of a new user, because it has neither password nor phone. */
export const isOfNamesAlone = (request: NewUserRequest): boolean =>
  !isHuman(request) || !(request.password || request.passwordHash || request.phone || request.totpSecret);

/** Refuses a taken username; the error names the user only to callers who may see them. */
function refusedName(request: NewUserRequest, found: TakenNames, { call, path }: Place): No | undefined {
  const { takenBy, takenIn } = found;
  if (takenBy === null || takenIn === null) return undefined;
  return loginNameTaken(request.username, { userId: takenBy, owner: takenIn }, { call, path });
}

function refusedId({ userId }: NewUserRequest, { idUsed }: TakenNames, path: string): No | undefined {
  return idUsed && userId ? takenId(`${path}userId`, userId) : undefined;
}

/** Makes the error for an id that was used before, for any object. */
export function takenId(field: string, id: string): No {
  const [reason, params] = ["ID_TAKEN", { id }] as const;
  return { reason, field, params, violations: [{ field, text: reason, params, reason }] };
}

type Checked = { readonly path: string; readonly secrets: Pick<Secrets, "common"> };

function refusedPassword(
  request: NewUserRequest,
  { policy }: Pick<NewUserFindings, "policy">,
  { path, secrets }: Checked,
) {
  if (!isHuman(request) || !request.password) return undefined;
  const field = `${path}password`;
  const names = [request.username, request.givenName, request.familyName, request.email];
  const violations = policyViolations({ field, password: request.password, names, policy }, secrets);
  return violations.length === 0 ? undefined : ({ reason: "PASSWORD_POLICY", field, violations } as const);
}

export function refuseNew(no: No | undefined): void {
  if (no) throw refuse.because(no.reason, no);
}
