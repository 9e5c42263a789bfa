import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateHumanUserRequestSchema,
  CreateMachineUserRequestSchema,
  ListUsersRequestSchema,
  type UserService,
  UserState,
} from "../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../deps.ts";
import { messageRule, refuse, type Violation } from "../errors.ts";
import { details, detailsAfter, factOf, first, next, type Versioned } from "../events/fact.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { accessTokenRules, userAccessTokens } from "./access_token.ts";
import { emailRules, userEmail } from "./email.ts";
import { wrongInEmail } from "./email_address.ts";
import { invitationRules, userInvitation } from "./invitation.ts";
import type { MailSettings } from "./mail_code.ts";
import { isLastOwner } from "./member.ts";
import { newPasswordHash } from "./new_password.ts";
import { cut, type Page, pageOf, pageRule } from "./page.ts";
import { hashing, isLocked, loginNameOf, passwordSecret, passwordUserRead, refuseBroken } from "./password.ts";
import { type PhoneSettings, phoneOfNewUser } from "./phone_code.ts";
import { phoneNumber, wrongForSms } from "./phone_number.ts";
import { type PolicyInForce, policyColumn } from "./policy.ts";
import { phoneRules, userPhone } from "./user_phone.ts";

/** The users of an organization, human and machine. */
export const userService = (deps: Deps, settings: PhoneSettings & MailSettings) => {
  const { log, sql, clock, ids, secrets } = deps;
  const nameAndPolicy = newUserRead(sql);
  const phoneOf = phoneOfNewUser(deps, settings);
  const userById = userRead(sql);
  const passwordUser = passwordUserRead(sql);

  return {
    ...userPhone(deps, settings),
    ...userEmail(deps, settings),
    ...userInvitation(deps, settings),
    ...userAccessTokens(deps),

    async createHumanUser({ username, givenName, familyName, email, phone, password }, call) {
      const at = first(organizationOf(call), ids(), clock());
      const { loginName, policy } = await freeName(username, call);
      const names = [username, givenName, familyName, email];
      if (password) refuseBroken({ field: "password", password, names, policy }, secrets);
      const { secret: code, ...withPhone } = (await phoneOf({ id: at.stream, phone }, call.signal)) ?? {};
      const hash = password && (await hashing(secrets.passwords.hash(password, call.signal)));
      const value = { username, loginName, givenName, familyName, email, ...withPhone };
      const secret = { ...code, ...(hash ? passwordSecret(hash, policy) : {}) };
      const created = factOf("user", at, { case: "humanCreated", value }, secret);
      return log.append(call, [created], { userId: at.stream, details: detailsAfter(at) });
    },

    async createMachineUser({ username, name }, call) {
      const at = first(organizationOf(call), ids(), clock());
      const { loginName } = await freeName(username, call);
      const created = factOf("user", at, { case: "machineCreated", value: { username, loginName, name } });
      return log.append(call, [created], { userId: at.stream, details: detailsAfter(at) });
    },

    async getUser({ userId }, call) {
      return { user: user(await userOf(userId, call), clock()) };
    },

    async listUsers(request, call) {
      const page = pageOf(request, 2);
      const rows = await usersByName(sql, organizationOf(call), page);
      const { rows: answered, nextPageToken } = cut(rows, page, ({ username, id }) => [username, id]);
      return { users: answered.map((row) => user(row, clock())), nextPageToken };
    },

    async setPassword({ userId, newPassword }, call) {
      const row = await passwordUser({ owner: organizationOf(call), id: userId }, call.signal);
      if (!row) throw refuse.notFound("user", userId);
      if (row.kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id: userId } });
      const hash = await newPasswordHash(secrets, { user: row, password: newPassword, signal: call.signal });
      const at = next(row, clock());
      const fact = { case: "passwordChanged", value: { byAdministrator: true } } as const;
      return log.append(call, [factOf("user", at, fact, passwordSecret(hash, row.policy))], {
        details: detailsAfter(at),
      });
    },

    async deactivateUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (!row.active) return log.append(call, [], { details: details(row) });
      if (row.lastOwner) throw refuse.because("LAST_OWNER");
      const at = next(row, clock());
      const deactivated = factOf("user", at, { case: "deactivated", value: {} });
      return log.append(call, [deactivated], { details: detailsAfter(at) });
    },

    async reactivateUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (row.active) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const reactivated = factOf("user", at, { case: "reactivated", value: {} });
      return log.append(call, [reactivated], { details: detailsAfter(at) });
    },

    async unlockUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (!isLocked(row, clock())) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const unlocked = factOf("user", at, { case: "unlocked", value: {} });
      return log.append(call, [unlocked], { details: detailsAfter(at) });
    },

    async deleteUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (row.lastOwner) throw refuse.because("LAST_OWNER");
      const at = next(row, clock());
      const deleted = factOf("user", at, { case: "deleted", value: {} });
      return log.append(call, [deleted], { details: detailsAfter(at) });
    },
  } satisfies ServiceImpl<typeof UserService>;

  async function userOf(id: string, call: Call): Promise<UserRow> {
    const row = await userById({ owner: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("user", id);
    return row;
  }

  /** Requires a free username; returns the policies in force in its organization. */
  async function freeName(username: string, call: Call) {
    const loginName = loginNameOf(username);
    const found = await nameAndPolicy({ owner: organizationOf(call), login_name: loginName }, call.signal);
    if (!found) throw new Error("policies are always in force");
    if (found.takenBy !== null && found.takenIn !== null) throw nameTaken(username, found.takenBy, found.takenIn, call);
    return { loginName, policy: found.policy };
  }
};

/** A user as its row holds it. */
export type UserRow = Versioned & {
  readonly kind: string;
  readonly username: string;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly phone: string | null;
  readonly phoneVerified: boolean;
  readonly name: string | null;
  readonly active: boolean;
  readonly locked: boolean;
  readonly lockedUntil: Date | null;
  /** Whether the instance or an organization would have no active owner without this user. */
  readonly lastOwner: boolean;
};

const columns = `u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
  u.email, u.email_verified as "emailVerified", u.phone, u.phone_verified as "phoneVerified", u.name, u.active, u.locked, u.locked_until as "lockedUntil",
  u.version, u.created, u.changed`;

/** Reads a user by its id. */
export const userRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, UserRow>(sql, {
    asked: "owner text, id text",
    select: `select n, ${columns}, ${isLastOwner} as "lastOwner"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

/** Converts a row to the user of a response. */
export const user = (row: Omit<UserRow, "lastOwner">, now: Date) => ({
  id: row.id,
  details: details(row),
  state: stateOf(row, now),
  username: row.username,
  kind: row.kind === "human" ? human(row) : machine(row),
});

type Kind = Omit<UserRow, "lastOwner">;

const human = ({ givenName, familyName, email, phone, phoneVerified, emailVerified }: Kind) => {
  const names = { givenName: givenName ?? "", familyName: familyName ?? "" };
  const known = { ...names, email: email ?? "", emailVerified, phoneVerified };
  return { case: "human", value: { ...known, ...(phone === null ? {} : { phone }) } } as const;
};

const machine = ({ name }: Kind) => ({ case: "machine", value: { name: name ?? "" } }) as const;

function stateOf(row: Kind, now: Date): UserState {
  if (!row.active) return UserState.INACTIVE;
  return isLocked(row, now) ? UserState.LOCKED : UserState.ACTIVE;
}

const usersByName = (sql: Sql, owner: string, { after, limit }: Page) => sql<Kind[]>`
  select ${sql.unsafe(columns)} from users u
  where u.owner = ${owner}
    and ${after ? sql`(u.username, u.user_id) > (${after[0] ?? ""}, ${after[1] ?? ""})` : sql`true`}
  order by u.username, u.user_id limit ${limit}`;

type NewUser = { takenBy: string | null; takenIn: string | null; policy: PolicyInForce };

const newUserRead = (sql: Sql) =>
  loadOne<{ owner: string; login_name: string }, NewUser>(sql, {
    asked: "owner text, login_name text",
    select: `select n, l.user_id as "takenBy", l.owner as "takenIn", ${policyColumn("asked.owner")} as policy
             from asked left join login_names l on l.login_name = asked.login_name`,
  });

/** Cross-field rules of requests about users. */
export const userRules = (deps: Pick<Deps, "clock">, settings: PhoneSettings) => [
  messageRule(CreateHumanUserRequestSchema, (request) => wrongInNew(request, settings)),
  messageRule(CreateMachineUserRequestSchema, longName),
  pageRule(ListUsersRequestSchema, 2),
  ...phoneRules(settings),
  ...emailRules,
  ...invitationRules,
  ...accessTokenRules(deps),
];

type NewHuman = { readonly username: string; readonly email: string; readonly phone: string };

function wrongInNew({ username, email, phone }: NewHuman, { phoneDefaultRegion: region }: PhoneSettings): Violation[] {
  const wrongPhone = phone === "" ? [] : wrongForSms(phoneNumber(phone, region));
  return [...longName({ username }), ...wrongInEmail(email), ...wrongPhone];
}

const longestLoginName = 200;

/** Finds a username that is too long in its compatibility form, which can be many times as long as the text typed. */
function longName({ username }: Pick<NewHuman, "username">): Violation[] {
  if ([...loginNameOf(username)].length <= longestLoginName) return [];
  const description = `must have at most ${longestLoginName} characters also in its compatibility form`;
  return [{ field: "username", description, reason: "USERNAME_TOO_LONG" }];
}

/** Makes the refusal of a taken username; it names the user only to callers who may see that user. */
function nameTaken(name: string, userId: string, owner: string, call: Call) {
  const seen =
    owner === organizationOf(call) ||
    callerOf(call).memberships.some(
      ({ scope, id }) => scope === "instance" || (scope === "organization" && id === owner),
    );
  if (!seen) return refuse.because("LOGIN_NAME_TAKEN", { params: { name } });
  return refuse.because("LOGIN_NAME_TAKEN", { params: { name, userId }, resource: { noun: "user", id: userId } });
}
