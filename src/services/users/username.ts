import type { ServiceImpl } from "@connectrpc/connect";
import { ChangeUsernameRequestSchema, type UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { loginNameOf, namesOrganization } from "../callers/login_name.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import type { No } from "../writing/batch_refusal.ts";
import { takenName } from "../writing/taken_name.ts";
import { touchUser } from "../writing/touch_user.ts";
import { mixesScripts } from "./mixed_scripts.ts";

export const usernameChange = ({ log, sql, clock }: Deps) => {
  const userAndHolder = usernameRead(sql);

  return {
    async changeUsername({ userId: id, username, expectedSequence }, call) {
      const loginName = loginNameOf(username);
      const row = await userAndHolder({ owner: organizationOf(call), id, login_name: loginName }, call.signal);
      if (!row) throw refuse.notFound("user", id);
      refuseOvertaken(row, expectedSequence);
      const { takenBy, takenIn } = row;
      if (takenBy !== null && takenIn !== null)
        throw refuse.because(
          "LOGIN_NAME_TAKEN",
          loginNameTaken(username, { userId: takenBy, owner: takenIn }, { call }),
        );
      if (username === row.username) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const isOwn = isOwnIn(row, loginName) ? { ownLoginName: true } : {};
      const changed = factOf("user", at, { case: "usernameChanged", value: { username, loginName, ...isOwn } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Pick<ServiceImpl<typeof UserService>, "changeUsername">;
};

/** Whether the new login name is the organization's own. If only the case changes, that stays as it is. */
const isOwnIn = ({ ownLoginNames, ownLoginName, username }: Row, loginName: string): boolean =>
  ownLoginNames && (ownLoginName || loginName !== loginNameOf(username));

/** SQL for whether a fact gives a user a login name that is the organization's own. */
export const isOwnName = "coalesce((f.payload->>'ownLoginName')::boolean, false)";

/**
 * One update of the login name, because the new one may differ from the old one only in case. A name leaves the directory when the first of
 * the organization's own replaces it.
 */
export const usernameFolds = {
  usernameChanged: {
    views: [
      touchUser(`username = f.payload->>'username', own_login_name = ${isOwnName}`),
      `update login_names l set login_name = f.payload->>'loginName' from $facts f
       where l.user_id = f.stream and f.payload->>'loginName' <> '' and not ${isOwnName}`,
      `delete from login_names l using $facts f where l.user_id = f.stream and ${isOwnName}`,
      `insert into organization_login_names (owner, login_name, user_id, own)
       select f.owner, f.payload->>'loginName', f.stream, true from $facts f join login_names l on l.user_id = f.stream
       where f.payload->>'loginName' <> '' and ${isOwnName}`,
      `update organization_login_names o set login_name = f.payload->>'loginName' from $facts f
       where o.owner = f.owner and o.user_id = f.stream and o.own and f.payload->>'loginName' <> '' and ${isOwnName}`,
    ],
  },
} satisfies Pick<NounFolds<"user">, "usernameChanged">;

export const usernameRules = [messageRule(ChangeUsernameRequestSchema, wrongName)];

const longestLoginName = 200;

/**
 * Refuses a username whose compatibility form is too long, as it can be many times as long as the text typed; one that ends like the
 * qualified name of another organization's user; and one that may look like another because it mixes alphabets.
 */
export function wrongName({ username }: { readonly username: string }): Violation[] {
  const field = "username";
  if (namesOrganization(username)) return [{ field, text: "USERNAME_RESERVED", reason: "USERNAME_RESERVED" }];
  if (mixesScripts(username)) return [{ field, text: "USERNAME_MIXED_SCRIPTS", reason: "USERNAME_MIXED_SCRIPTS" }];
  if ([...loginNameOf(username)].length <= longestLoginName) return [];
  const params = { max: longestLoginName };
  return [{ field, text: "TEXT_MAX_COMPATIBLE", params, reason: "USERNAME_TOO_LONG" }];
}

type Holder = { readonly userId: string; readonly owner: string };

/** Makes the error for a taken username, which names the user only to callers who may see them. */
export function loginNameTaken(name: string, { userId, owner }: Holder, { call, path = "" }: Place): No {
  const taken = { reason: "LOGIN_NAME_TAKEN", field: `${path}username`, name } as const;
  if (!mayKnowUserOf(owner, call)) return takenName(taken);
  return takenName({ ...taken, params: { userId, organizationId: owner }, resource: { noun: "user", id: userId } });
}

/** The call, and the path of an item in its request. */
type Place = { readonly call: Call; readonly path?: string };

/** Whether an error may name a user of the organization to the caller. */
const mayKnowUserOf = (organization: string, call: Call): boolean =>
  organization === organizationOf(call) ||
  callerOf(call).memberships.some(
    ({ scope, id }) => scope === "instance" || (scope === "organization" && id === organization),
  );

/**
 * SQL for the user who has `asked.login_name` among the names that a new one in `asked.owner` is compared with: those of the organization
 * `h` if its names are its own, otherwise those of the directory.
 */
export const nameHolder = `left join organizations h on h.organization_id = asked.owner
             left join lateral (
               select d.user_id, d.owner from login_names d where not h.own_login_names and d.login_name = asked.login_name
               union all
               select o.user_id, o.owner from organization_login_names o
               where h.own_login_names and o.owner = asked.owner and o.login_name = asked.login_name) l`;

export const ownLoginNames = `coalesce(h.own_login_names, false) as "ownLoginNames"`;

type Row = Versioned & {
  readonly username: string;
  readonly ownLoginName: boolean;
  /** Whether names given in the organization are its own. */
  readonly ownLoginNames: boolean;
  readonly takenBy: string | null;
  readonly takenIn: string | null;
};

/** Reads a user, and another one who already has the new login name. */
const usernameRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string; login_name: string }, Row>(sql, {
    asked: "owner text, id text, login_name text",
    select: `select n, u.user_id as id, u.owner, u.username, u.own_login_name as "ownLoginName", ${ownLoginNames},
               u.version, u.created, u.changed, l.user_id as "takenBy", l.owner as "takenIn"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             ${nameHolder} on l.user_id <> asked.id`,
  });
