import type { ServiceImpl } from "@connectrpc/connect";
import { ListUsersRequestSchema, type UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { type At, details, detailsAfter, factOf, next, plainFact } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import { refuseLimited } from "../../guards/held_permissions.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { type NameKey, nameAsked, nameOnlyKey, userNamed } from "../callers/login_name.ts";
import { codesWait } from "../factors/factor_attempts.ts";
import { isLastOwner } from "../members/last_owner.ts";
import { handlers } from "../module.ts";
import { waitOf } from "../passwords/name_wait.ts";
import { isLocked, placeOf } from "../passwords/password.ts";
import { isChangeBlocked } from "../passwords/password_change.ts";
import { namedRule, readNamed } from "../reading/list_statement.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import type { NoticeSettings } from "../verification/notice.ts";
import { type PhoneSettings, phoneOfNewUser } from "../verification/phone_code.ts";
import { activeStates } from "../writing/active_state.ts";
import { userBatch, userBatchRules } from "./create_users.ts";
import { emailRules, userEmail } from "./email.ts";
import { userErasure } from "./erasure.ts";
import { type FindSettings, findUserRules, userFinding } from "./find_user.ts";
import { invitationRules, userInvitation } from "./invite_user.ts";
import {
  addresseeOf,
  createdFact,
  isOfNamesAlone,
  type NewUserRequest,
  namesAreFree,
  newUserRules,
  newUsers,
  refusedNames,
  refuseNew,
  type TakenNames,
  totpFacts,
} from "./new_user.ts";
import { type NewUserMail, newUserMails } from "./new_user_mail.ts";
import { userUpdateRules, userUpdates } from "./update_user.ts";
import { isOfAge, userList, userTexts, wrongPhones } from "./user_list.ts";
import { metadataOfUsers, userMetadata, userMetadataRules } from "./user_metadata.ts";
import { phoneRules, userPhone } from "./user_phone.ts";
import { type UserRow, user, userColumns } from "./user_row.ts";
import { userSignInRead } from "./user_sign_in.ts";
import { usernameChange, usernameRules } from "./username.ts";

// With 16 KiB of metadata each, they are 1.6 MB.
const mostWithMetadata = 100;

export const userService = (deps: Deps, settings: PhoneSettings & NoticeSettings & FindSettings) => {
  const { log, sql, clock } = deps;
  const { findings, refusal, place, credentials } = newUsers(deps);
  const mails = newUserMails(deps, settings);
  const phoneOf = phoneOfNewUser(deps, settings);
  const userById = userRead(sql);
  const [signInOf, userByName] = [userSignInRead(sql), userByLoginNameRead(sql)];
  const metadataOf = metadataOfUsers(sql);
  const states = activeStates(deps, (at, kind) => plainFact("user", at, kind));

  const parts = handlers(
    userPhone(deps, settings),
    userEmail(deps, settings),
    userInvitation(deps, settings),
    userUpdates(deps),
    usernameChange(deps),
    userBatch(deps, settings),
    handlers(userErasure(deps), userMetadata(deps), userFinding(deps, settings)),
  );

  return handlers(parts, {
    async createHumanUser(request, call) {
      const at = place(request, call);
      if (isOfNamesAlone(request))
        return mailed({ at, request, call }, (mail) => createNamed({ at, request, call }, mail));
      const found = await findings(request, call);
      refuseNew(refusal(request, found, { call, path: "" }));
      const { ownLoginNames: ownLoginName } = found;
      const { phone, inactive } = request;
      const { secret: code, ...withPhone } = (await phoneOf({ id: at.stream, phone, inactive }, call.signal)) ?? {};
      const secret = { ...code, ...(await credentials(request, found, placeOf(call))) };
      return mailed({ at, request, call }, (mail) =>
        log.append(
          call,
          [createdFact(at, request, { ...withPhone, mail, secret, ownLoginName }), ...totpFacts(at, request, deps)],
          created(at),
        ),
      );
    },

    async createMachineUser(request, call) {
      return createNamed({ at: place(request, call), request, call });
    },

    async getUser({ userId }, call) {
      const [row, signIn] = await Promise.all([userOf(userId, call), signInOf(userId, call.signal)]);
      return { user: user(row, clock()), ...(signIn && row.kind === "human" && { signIn }) };
    },

    async listUsers(request, call) {
      const page = pageOf(ListUsersRequestSchema, request, 2, request.includeMetadata ? mostWithMetadata : undefined);
      const owner = request.instance ? undefined : organizationOf(call);
      if (request.filter?.metadata || request.includeMetadata) refuseLimited(callerOf(call), "user.metadata.read");
      const query = { ...request, region: settings.phoneDefaultRegion, now: clock() };
      const rows = await readNamed<UserRow>(sql, [userList(sql, owner, query)], page);
      const { rows: answered, nextPageToken } = cut(rows, page, ({ key, id }) => [key, id]);
      const metadata = request.includeMetadata ? await metadataOf(answered.map(({ id }) => id)) : [];
      return { users: answered.map((row) => user(row, clock())), nextPageToken, metadata };
    },

    async getUserByLoginName({ loginName, organizationId }, call) {
      const key = { ...nameOnlyKey({ loginName, organizationId }), owner: organizationOf(call) };
      const row = await userByName(key, call.signal);
      if (!row) throw refuse.notFound("user", loginName);
      return { user: user(row, clock()) };
    },

    async deactivateUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (row.active && row.lastOwner) throw refuse.because("LAST_OWNER");
      return states.deactivate(row, call);
    },

    reactivateUser: async ({ userId }, call) => states.reactivate(await userOf(userId, call), call),

    async unlockUser({ userId }, call) {
      const row = await userOf(userId, call);
      if (!isLocked(row, clock()) && !(await isBlocked(userId, clock())))
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
      return log.appendLong(call, deleted, (jobId) => ({ details: detailsAfter(at), ...(jobId && { jobId }) }));
    },
  } satisfies Partial<ServiceImpl<typeof UserService>>);

  /** Whether wrong passwords or codes currently keep anybody waiting. */
  async function isBlocked(userId: string, now: Date): Promise<boolean> {
    const isNameBlocked = waitOf(sql, userId, now).then((until) => until !== undefined);
    const blocks = [codesWait(sql, userId, now), isChangeBlocked(sql, userId, now), isNameBlocked];
    return (await Promise.all(blocks)).includes(true);
  }

  /** Appends the creation of a person, with a mail unless the address is already verified. */
  function mailed<A>({ at, request, call }: Creation, append: (mail?: NewUserMail) => Promise<A>): Promise<A> {
    const addressee = addresseeOf(at, request);
    return addressee ? mails.appended(addressee, call, append) : append();
  }

  async function createNamed({ at, request, call }: Creation, mail?: NewUserMail) {
    // Most organizations use the directory, so a name that is the organization's own takes a second statement.
    for (const ownLoginName of [false, true]) {
      const fact = createdFact(at, request, { mail, ownLoginName });
      const taken = await log.appendIf<TakenNames>(call, fact, created(at), namesAreFree);
      if (!taken) return created(at);
      refuseNew(refusedNames(request, taken, { call, path: "" }));
    }
    throw refuse.because("CONFLICT", { params: { constraint: "own_login_names" } });
  }

  async function userOf(id: string, call: Call): Promise<UserToChange> {
    const row = await userById({ owner: organizationOf(call), id }, call.signal);
    if (!row) throw refuse.notFound("user", id);
    return row;
  }
};

/** A user to create, and the position of its fact. */
type Creation = { readonly at: At; readonly request: NewUserRequest; readonly call: Call };

type UserToChange = UserRow & {
  /** Whether, without this user, the instance or an organization would have no active owner. */
  readonly lastOwner: boolean;
};

export const userRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, UserToChange>(sql, {
    asked: "owner text, id text",
    select: `select n, u.user_id as id, ${userColumns}, ${isLastOwner} as "lastOwner"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

const userByLoginNameRead = (sql: Sql) =>
  loadOne<NameKey & { readonly owner: string }, UserRow>(sql, {
    asked: `${nameAsked}, owner text`,
    select: `select n, u.user_id as id, ${userColumns}
             from asked join ${userNamed}
             join users u on u.owner = asked.owner and u.user_id = l.user_id`,
  });

const created = (at: At) => ({ userId: at.stream, details: detailsAfter(at) });

export const userRules = (settings: PhoneSettings) => [
  ...newUserRules(settings),
  ...userBatchRules(settings),
  pageRule(ListUsersRequestSchema, 2),
  namedRule(ListUsersRequestSchema, userTexts, isOfAge),
  messageRule(ListUsersRequestSchema, wrongPhones, ["filter.phone", "filter.phonePrefix"]),
  ...phoneRules(settings),
  ...emailRules,
  ...invitationRules,
  ...userUpdateRules,
  ...usernameRules,
  ...userMetadataRules,
  ...findUserRules,
];
