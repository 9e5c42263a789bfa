import type { ServiceImpl } from "@connectrpc/connect";
import { ListUsersRequestSchema, type UserService, UserState } from "../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../deps.ts";
import { messageRule, refuse } from "../errors.ts";
import { type At, details, detailsAfter, factOf, next, type Versioned } from "../events/fact.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { type AccessTokenSettings, accessTokenRules, userAccessTokens } from "./access_token.ts";
import { userBatch, userBatchRules } from "./create_users.ts";
import { emailRules, userEmail } from "./email.ts";
import { codesWait } from "./factor_attempts.ts";
import { invitationRules, userInvitation } from "./invitation.ts";
import type { MailSettings } from "./mail_code.ts";
import { isLastOwner } from "./member.ts";
import { namedRule, readNamed } from "./named_list.ts";
import { newPasswordHash } from "./new_password.ts";
import {
  createdFact,
  isOfNamesAlone,
  type NewUserRequest,
  namesAreFree,
  newUserRules,
  newUsers,
  refusedNames,
  refuseNew,
  type TakenNames,
} from "./new_user.ts";
import { cut, pageOf, pageRule } from "./page.ts";
import { isLocked, loginNameOf, passwordSecret, passwordUserRead } from "./password.ts";
import { type PhoneSettings, phoneOfNewUser } from "./phone_code.ts";
import { type AddressColumn, addressShown } from "./postal_address.ts";
import { userUpdateRules, userUpdates } from "./update_user.ts";
import { userColumns as columns, userList, userTexts, wrongPhones } from "./user_list.ts";
import { phoneRules, userPhone } from "./user_phone.ts";
import { usernameChange, usernameRules } from "./username.ts";

/** The users of an organization, human and machine. */
export const userService = (deps: Deps, settings: PhoneSettings & MailSettings) => {
  const { log, sql, clock, secrets } = deps;
  const { findings, refusal, place, credentials } = newUsers(deps);
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
    ...userBatch(deps, settings),

    async createHumanUser(request, call) {
      if (isOfNamesAlone(request)) return createNamed(request, call);
      const at = place(request, call);
      const found = await findings(request, call);
      refuseNew(refusal(request, found, { call, path: "" }));
      const { secret: code, ...withPhone } =
        (await phoneOf({ id: at.stream, phone: request.phone }, call.signal)) ?? {};
      const secret = { ...code, ...(await credentials(request, found, call.signal)) };
      return log.append(call, [createdFact(at, request, { ...withPhone, secret })], created(at));
    },

    async createMachineUser(request, call) {
      return createNamed(request, call);
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
      if (!isLocked(row, clock()) && !(await codesWait(sql, userId, clock())))
        return log.append(call, [], { details: details(row) });
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

  async function createNamed(request: NewUserRequest, call: Call) {
    const at = place(request, call);
    const taken = await log.appendIf<TakenNames>(call, createdFact(at, request, {}), created(at), namesAreFree);
    if (!taken) return created(at);
    refuseNew(refusedNames(request, taken, { call, path: "" }));
    throw new Error("a user was not created for no reason");
  }

  async function userOf(id: string, call: Call): Promise<UserRow> {
    const row = await userById({ owner: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("user", id);
    return row;
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
  readonly address: AddressColumn;
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

const human = ({ givenName, familyName, email, phone, phoneVerified, emailVerified, address }: Kind) => {
  const names = { givenName: givenName ?? "", familyName: familyName ?? "" };
  const known = { ...names, email: email ?? "", emailVerified, phoneVerified };
  return {
    case: "human",
    value: { ...known, ...(phone === null ? {} : { phone }), ...addressShown(address) },
  } as const;
};

const machine = ({ name }: Kind) => ({ case: "machine", value: { name: name ?? "" } }) as const;

function stateOf(row: Kind, now: Date): UserState {
  if (!row.active) return UserState.INACTIVE;
  return isLocked(row, now) ? UserState.LOCKED : UserState.ACTIVE;
}

const created = (at: At) => ({ userId: at.stream, details: detailsAfter(at) });

/** Cross-field rules of requests about users. */
export const userRules = (deps: Pick<Deps, "clock">, settings: PhoneSettings & AccessTokenSettings) => [
  ...newUserRules(settings),
  ...userBatchRules(settings),
  pageRule(ListUsersRequestSchema, 2),
  namedRule(ListUsersRequestSchema, userTexts),
  messageRule(ListUsersRequestSchema, wrongPhones, ["filter.phone", "filter.phonePrefix"]),
  ...phoneRules(settings),
  ...emailRules,
  ...invitationRules,
  ...accessTokenRules(deps, settings),
  ...userUpdateRules,
  ...usernameRules,
];
