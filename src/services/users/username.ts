import type { ServiceImpl } from "@connectrpc/connect";
import { ChangeUsernameRequestSchema, type UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { messageRule, refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { loginNameOf } from "../callers/login_name.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import type { No } from "../writing/batch_refusal.ts";
import { takenName } from "../writing/taken_name.ts";
import { touchUser } from "../writing/touch_user.ts";

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
      const changed = factOf("user", at, { case: "usernameChanged", value: { username, loginName } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },
  } satisfies Pick<ServiceImpl<typeof UserService>, "changeUsername">;
};

/** One update of the login name, because the new one may differ from the old one only in case. */
export const usernameFolds = {
  usernameChanged: {
    views: [
      touchUser("username = f.payload->>'username'"),
      `update login_names l set login_name = f.payload->>'loginName' from $facts f
       where l.user_id = f.stream and f.payload->>'loginName' <> ''`,
    ],
  },
} satisfies Pick<NounFolds<"user">, "usernameChanged">;

export const usernameRules = [messageRule(ChangeUsernameRequestSchema, longName)];

const longestLoginName = 200;

/** Refuses a username whose compatibility form is too long; it can be many times as long as the text typed. */
export function longName({ username }: { readonly username: string }): Violation[] {
  if ([...loginNameOf(username)].length <= longestLoginName) return [];
  const params = { max: longestLoginName };
  return [{ field: "username", text: "TEXT_MAX_COMPATIBLE", params, reason: "USERNAME_TOO_LONG" }];
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

type Row = Versioned & {
  readonly username: string;
  readonly takenBy: string | null;
  readonly takenIn: string | null;
};

/** Reads a user, and another one who already has the new login name. */
const usernameRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string; login_name: string }, Row>(sql, {
    asked: "owner text, id text, login_name text",
    select: `select n, u.user_id as id, u.owner, u.username, u.version, u.created, u.changed,
               l.user_id as "takenBy", l.owner as "takenIn"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join login_names l on l.login_name = asked.login_name and l.user_id <> asked.id`,
  });
