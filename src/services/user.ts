import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CreateHumanUserRequest,
  type CreateMachineUserRequest,
  type UserService,
  UserState,
} from "../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { type At, details, detailsAfter, factOf, first, type NewFact, next, type Versioned } from "../events/fact.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { accessTokens } from "./access_token.ts";
import { cut, type Page, pageOf } from "./page.ts";
import {
  hashing,
  isLocked,
  loginNameOf,
  type PasswordUser,
  passwordSecret,
  passwordUserRead,
  refuseBroken,
  refuseReused,
} from "./password.ts";
import { type PhoneSettings, phoneOfNewUser } from "./phone_code.ts";
import { type PolicyInForce, policyInForce } from "./policy.ts";
import { userPhone } from "./user_phone.ts";

/** The users of an organization, human and machine. */
export const userService = (deps: Deps, settings: PhoneSettings) =>
  ({
    ...creation(deps, settings),
    ...reading(deps),
    ...administration(deps),
    ...userPhone(deps, settings),
    ...accessTokens(deps),
  }) satisfies ServiceImpl<typeof UserService>;

type Users<K extends keyof ServiceImpl<typeof UserService>> = Pick<ServiceImpl<typeof UserService>, K>;

const creation = (deps: Deps, settings: PhoneSettings) => {
  const { log, sql, clock, ids, secrets } = deps;
  const holderOf = loginNameRead(sql);
  const policyOf = policyInForce(sql);
  const phoneOf = phoneOfNewUser(deps, settings);

  return {
    async createHumanUser(request, call) {
      const loginName = await freeLoginName(request.username, call);
      const userId = ids();
      const phone = await phoneOf({ id: userId, phone: request.phone }, call.signal);
      const password = await passwordOf(request, call);
      const at = first(organizationOf(call), userId, clock());
      const { username, givenName, familyName, email } = request;
      const named = phone && { phone: phone.phone, phoneCodeId: phone.phoneCodeId };
      const value = { username, givenName, familyName, email, loginName, ...named };
      const created = factOf("user", at, { case: "humanCreated", value }, { ...password, ...phone?.secret });
      return log.append(call, [created], { userId, details: detailsAfter(at) });
    },

    async createMachineUser({ username, name }, call) {
      const loginName = await freeLoginName(username, call);
      const at = first(organizationOf(call), ids(), clock());
      const created = factOf("user", at, { case: "machineCreated", value: { username, name, loginName } });
      return log.append(call, [created], { userId: at.stream, details: detailsAfter(at) });
    },
  } satisfies Users<"createHumanUser" | "createMachineUser">;

  async function freeLoginName(username: CreateMachineUserRequest["username"], call: Call): Promise<string> {
    const loginName = loginNameOf(username);
    const holder = await holderOf({ login_name: loginName }, call.signal);
    if (holder) throw loginNameTaken(username, holder, call);
    return loginName;
  }

  async function passwordOf(request: CreateHumanUserRequest, call: Call) {
    const { password, username, givenName, familyName, email } = request;
    if (password === undefined) return {};
    const policy = (await policyOf({ owner: organizationOf(call) }, call.signal))?.policy as PolicyInForce;
    refuseBroken({ field: "password", password, names: [username, givenName, familyName, email], policy }, secrets);
    return passwordSecret(await hashing(secrets.passwords.hash(password, call.signal)), policy);
  }
};

const reading = ({ sql, clock }: Deps) => {
  const userById = userRead(sql);
  return {
    async getUser({ userId }, call) {
      const row = await userById({ owner: organizationOf(call), id: userId }, call.signal);
      if (!row) throw refuse.notFound("user", userId);
      return { user: user(row, clock()) };
    },

    async listUsers(request, call) {
      const page = pageOf(request, 2);
      const rows = await usersByName(sql, organizationOf(call), page);
      const { rows: answered, nextPageToken } = cut(rows, page, ({ username, id }) => [username, id]);
      return { users: answered.map((row) => user(row, clock())), nextPageToken };
    },
  } satisfies Users<"getUser" | "listUsers">;
};

const administration = ({ log, sql, clock, secrets }: Deps) => {
  const userById = userRead(sql);
  const passwordUser = passwordUserRead(sql);

  return {
    async setPassword({ userId, newPassword }, call) {
      const user = await passwordUser({ owner: organizationOf(call), id: userId }, call.signal);
      if (!user) throw refuse.notFound("user", userId);
      if (user.kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id: userId } });
      const hash = await newHash(user, newPassword, call);
      const at = next(user, clock());
      const secret = passwordSecret(hash, user.policy);
      const changed = factOf("user", at, { case: "passwordChanged", value: { byAdministrator: true } }, secret);
      return log.append(call, [changed], { details: detailsAfter(at) });
    },

    deactivateUser: ({ userId }, call) =>
      change(userId, call, {
        needed: ({ active }) => active,
        fact: (at) => factOf("user", at, { case: "deactivated", value: {} }),
      }),

    reactivateUser: ({ userId }, call) =>
      change(userId, call, {
        needed: ({ active }) => !active,
        fact: (at) => factOf("user", at, { case: "reactivated", value: {} }),
      }),

    unlockUser: ({ userId }, call) =>
      change(userId, call, {
        needed: ({ locked }) => locked,
        fact: (at) => factOf("user", at, { case: "unlocked", value: {} }),
      }),

    deleteUser: ({ userId }, call) =>
      change(userId, call, {
        needed: () => true,
        fact: (at) => factOf("user", at, { case: "deleted", value: {} }),
      }),
  } satisfies Users<"setPassword" | "deactivateUser" | "reactivateUser" | "unlockUser" | "deleteUser">;

  async function newHash(user: PasswordUser, password: string, call: Call): Promise<string> {
    const { names, policy, hash, history } = user;
    refuseBroken({ field: "newPassword", password, names, policy }, secrets);
    const earlier = [hash ?? [], ...history].flat().slice(0, policy.historyDepth);
    const work = secrets.passwords.inOneTurn(async (bench) => {
      await refuseReused(bench, password, earlier);
      return bench.hash(password);
    }, call.signal);
    return hashing(work);
  }

  type Step = { readonly needed: (row: UserRow) => boolean; readonly fact: (at: At) => NewFact };

  async function change(userId: string, call: Call, step: Step) {
    const row = await userById({ owner: organizationOf(call), id: userId }, call.signal);
    if (!row) throw refuse.notFound("user", userId);
    if (!step.needed(row)) return log.append(call, [], { details: details(row) });
    const at = next(row, clock());
    return log.append(call, [step.fact(at)], { details: detailsAfter(at) });
  }
};

/** A user as its row holds it. */
export type UserRow = Versioned & {
  readonly kind: string;
  readonly username: string;
  readonly givenName: string | null;
  readonly familyName: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly phoneVerified: boolean;
  readonly name: string | null;
  readonly active: boolean;
  readonly locked: boolean;
  readonly lockedUntil: Date | null;
};

const userColumns = `u.owner, u.user_id as id, u.kind, u.username, u.given_name as "givenName",
  u.family_name as "familyName", u.email, u.phone, u.phone_verified as "phoneVerified", u.name, u.active, u.locked,
  u.locked_until as "lockedUntil", u.version, u.created, u.changed`;

/** Reads a user of an organization by its id. */
export const userRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, UserRow>(sql, {
    asked: "owner text, id text",
    select: `select n, ${userColumns} from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

/** A user as it is answered. */
export function user(row: UserRow, now: Date) {
  const { id, username, name } = row;
  const machine = { case: "machine", value: { name: name ?? "" } } as const;
  return {
    id,
    username,
    details: details(row),
    state: stateOf(row, now),
    kind: row.kind === "human" ? human(row) : machine,
  };
}

const human = ({ givenName, familyName, email, phone, phoneVerified }: UserRow) =>
  ({
    case: "human",
    value: {
      ...{ givenName: givenName ?? "", familyName: familyName ?? "", email: email ?? "", phoneVerified },
      ...(phone === null ? {} : { phone }),
    },
  }) as const;

function stateOf(row: UserRow, now: Date): UserState {
  if (!row.active) return UserState.INACTIVE;
  return isLocked(row, now) ? UserState.LOCKED : UserState.ACTIVE;
}

const usersByName = (sql: Sql, owner: string, { after, limit }: Page) => sql<UserRow[]>`
  select ${sql.unsafe(userColumns)} from users u
  where u.owner = ${owner}
    and ${after ? sql`(u.username, u.user_id) > (${after[0] ?? ""}, ${after[1] ?? ""})` : sql`true`}
  order by u.username, u.user_id limit ${limit}`;

type Holder = { readonly id: string; readonly owner: string };

const loginNameRead = (sql: Sql) =>
  loadOne<{ login_name: string }, Holder>(sql, {
    asked: "login_name text",
    select: `select n, user_id as id, owner from asked join login_names using (login_name)`,
  });

/** Login names are unique in the instance: whose it is, is told to those who may read that user. */
function loginNameTaken(name: string, { id, owner }: Holder, call: Call) {
  const anywhere = callerOf(call).memberships.some(({ scope }) => scope === "instance");
  if (!anywhere && owner !== organizationOf(call)) return refuse.because("LOGIN_NAME_TAKEN", { params: { name } });
  return refuse.because("LOGIN_NAME_TAKEN", { params: { name, userId: id }, resource: { noun: "user", id } });
}
