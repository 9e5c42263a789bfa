import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateHumanUserRequestSchema,
  CreateMachineUserRequestSchema,
  ListUsersRequestSchema,
  type UserService,
  UserState,
} from "../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../deps.ts";
import { messageRule, refuse, type Violation } from "../errors.ts";
import { details, detailsAfter, factOf, first, next, type Versioned } from "../events/fact.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { type AccessTokenSettings, accessTokenRules, userAccessTokens } from "./access_token.ts";
import { emailRules, userEmail } from "./email.ts";
import { wrongInEmail } from "./email_address.ts";
import { invitationRules, userInvitation } from "./invitation.ts";
import type { MailSettings } from "./mail_code.ts";
import { isLastOwner } from "./member.ts";
import { namedRule, readNamed } from "./named_list.ts";
import { newPasswordHash } from "./new_password.ts";
import { cut, pageOf, pageRule } from "./page.ts";
import { hashing, isLocked, loginNameOf, passwordSecret, passwordUserRead, refuseBroken } from "./password.ts";
import { type PhoneSettings, phoneOfNewUser } from "./phone_code.ts";
import { phoneNumber, wrongForSms } from "./phone_number.ts";
import { type PolicyInForce, policyColumn } from "./policy.ts";
import { userUpdateRules, userUpdates } from "./update_user.ts";
import { userColumns as columns, userList, userTexts } from "./user_list.ts";
import { phoneRules, userPhone } from "./user_phone.ts";
import { loginNameTaken, longName, usernameChange, usernameRules } from "./username.ts";

/** The users of an organization, human and machine. */
export const userService = (deps: Deps, settings: PhoneSettings & MailSettings) => {
  const { log, sql, clock, ids, secrets } = deps;
  const nameAndPolicy = newUserRead(sql);
  const phoneOf = phoneOfNewUser(deps, settings);
  const userById = userRead(sql);
  const userByName = userByLoginNameRead(sql);
  const passwordUser = passwordUserRead(sql);

  return {
    ...userPhone(deps, settings),
    ...userEmail(deps, settings),
    ...userInvitation(deps, settings),
    ...userAccessTokens(deps),
    ...userUpdates(deps),
    ...usernameChange(deps),

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
      const page = pageOf(ListUsersRequestSchema, request, 2);
      const query = { ...request, region: settings.phoneDefaultRegion, now: clock() };
      const rows = await readNamed<Kind>(sql, [userList(sql, organizationOf(call), query)], page);
      const { rows: answered, nextPageToken } = cut(rows, page, ({ key, id }) => [key, id]);
      return { users: answered.map((row) => user(row, clock())), nextPageToken };
    },

    async getUserByLoginName({ loginName }, call) {
      const row = await userByName({ owner: organizationOf(call), login_name: loginNameOf(loginName) }, call.signal);
      if (!row) throw refuse.notFound("user", loginName);
      return { user: user(row, clock()) };
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
    const { takenBy, takenIn } = found;
    if (takenBy !== null && takenIn !== null) throw loginNameTaken(username, { userId: takenBy, owner: takenIn }, call);
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

/** Reads a user by its id. */
export const userRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, UserRow>(sql, {
    asked: "owner text, id text",
    select: `select n, u.user_id as id, ${columns}, ${isLastOwner} as "lastOwner"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

const userByLoginNameRead = (sql: Sql) =>
  loadOne<{ owner: string; login_name: string }, Kind>(sql, {
    asked: "owner text, login_name text",
    select: `select n, u.user_id as id, ${columns}
             from asked join login_names l using (login_name)
             join users u on u.owner = asked.owner and u.user_id = l.user_id`,
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

type NewUser = { takenBy: string | null; takenIn: string | null; policy: PolicyInForce };

const newUserRead = (sql: Sql) =>
  loadOne<{ owner: string; login_name: string }, NewUser>(sql, {
    asked: "owner text, login_name text",
    select: `select n, l.user_id as "takenBy", l.owner as "takenIn", ${policyColumn("asked.owner")} as policy
             from asked left join login_names l on l.login_name = asked.login_name`,
  });

/** Cross-field rules of requests about users. */
export const userRules = (deps: Pick<Deps, "clock">, settings: PhoneSettings & AccessTokenSettings) => [
  messageRule(CreateHumanUserRequestSchema, (request) => wrongInNew(request, settings)),
  messageRule(CreateMachineUserRequestSchema, longName),
  pageRule(ListUsersRequestSchema, 2),
  namedRule(ListUsersRequestSchema, userTexts),
  ...phoneRules(settings),
  ...emailRules,
  ...invitationRules,
  ...accessTokenRules(deps, settings),
  ...userUpdateRules,
  ...usernameRules,
];

type NewHuman = { readonly username: string; readonly email: string; readonly phone: string };

function wrongInNew({ username, email, phone }: NewHuman, { phoneDefaultRegion: region }: PhoneSettings): Violation[] {
  const wrongPhone = phone === "" ? [] : wrongForSms(phoneNumber(phone, region));
  return [...longName({ username }), ...wrongInEmail(email), ...wrongPhone];
}
