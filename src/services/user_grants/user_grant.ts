import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AddUserGrantRequestSchema,
  ListUserGrantsRequestSchema,
  type UserGrant,
  type UserGrantService,
  UserGrantState,
} from "../../../gen/postern/v1/user_grant_pb.ts";
import { type Call, type Deps, organizationOf, reachOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, first, type NewFact, next } from "../../events/fact.ts";
import { type NounFolds, touch } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule, messageRule } from "../../rules.ts";
import { handlers } from "../module.ts";
import { stateOfProject } from "../projects/project_state.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";
import { historyInFact, inFact } from "../reading/row.ts";
import { refuseOvertaken } from "../reading/update_mask.ts";
import { type Offer, offering } from "../writing/offer.ts";
import {
  addedFact,
  findingsQuestion,
  type GrantFindings,
  grantAnswer,
  grantCondition,
  grantOffer,
  lookupKeyOf,
  refusalOf,
  refusedRoles,
  wantedOf,
  wrongInProject,
} from "./add_user_grant.ts";
import { userGrantBatch } from "./add_user_grants.ts";
import { userGrantExpiration } from "./user_grant_expiration.ts";
import { userGrantList } from "./user_grant_list.ts";
import { grantAndRolesRead, refusedMore, userGrantRoles } from "./user_grant_roles.ts";
import { userGrantColumns as columns, type UserGrantRow, userGrantInserted } from "./user_grant_row.ts";
import { userGrantState, userGrantStateFolds } from "./user_grant_state.ts";

export const userGrantService = (deps: Deps) => {
  const { log, sql, clock, ids } = deps;
  const listedGrants = userGrantList(sql);
  const grantToRead = grantRead(sql);
  const grantToChange = grantAndRolesRead(sql);

  const parts = handlers(
    userGrantBatch(deps),
    userGrantRoles(deps),
    userGrantState(deps, grantOf),
    userGrantExpiration(deps),
  );

  return handlers(parts, {
    async addUserGrant(request, call) {
      const wanted = wantedOf(organizationOf(call), request);
      const added = addedFact(first(wanted.owner, ids(), clock()), wanted);
      const found = await log.appendIf<GrantFindings>(call, added, grantAnswer(added), grantCondition);
      if (!found) return grantAnswer(added);
      const no = refusalOf(wanted, found);
      if (no) throw refuse.because(no.reason, no);
      if (found.decidedBy === null) throw new Error("a grant was not added for no reason");
      const fact = await offered(grantOffer(wanted, found, { call }), added);
      return log.append(call, [fact], grantAnswer(fact));
    },

    async getUserGrant({ userGrantId }, call) {
      return { userGrant: userGrant(await grantOf(userGrantId, call)) };
    },

    async listUserGrants(request, call) {
      const page = pageOf(ListUserGrantsRequestSchema, request, 1);
      const listed = { owner: organizationOf(call), request, reach: reachOf(call) };
      const { rows, nextPageToken } = cut(await listedGrants(listed, page, call.signal), page, ({ id }) => [id]);
      return { userGrants: rows.filter(({ isHidden }) => !isHidden).map(userGrant), nextPageToken };
    },

    async changeUserGrant({ userGrantId, roleKeys, expectedSequence }, call) {
      const asked = { owner: organizationOf(call), id: userGrantId, role_keys: roleKeys };
      const row = await grantToChange(asked, call.signal);
      if (!row) throw refuse.notFound("user_grant", userGrantId);
      refuseOvertaken(row, expectedSequence);
      const no =
        refusedRoles({ ...row, projectGrantId: row.projectGrantId ?? "", roleKeys }, row.known) ??
        refusedMore(row, roleKeys, call);
      if (no) throw refuse.because(no.reason, no);
      if (sameRoles(row.roleKeys, roleKeys)) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const changed = factOf("userGrant", at, { case: "changed", value: { roleKeys } });
      return log.append(call, [changed], { details: detailsAfter(at) });
    },

    async removeUserGrant({ userGrantId }, call) {
      const row = await grantToRead({ owner: organizationOf(call), id: userGrantId }, call.signal);
      if (!row) throw refuse.notFound("user_grant", userGrantId);
      const at = next(row, clock());
      const removed = factOf("userGrant", at, { case: "removed", value: {} });
      return log.append(call, [removed], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof UserGrantService>>);

  /** The fact that offers a grant; if nobody else has to accept it, the fact that adds it. */
  async function offered(offer: Offer | undefined, added: NewFact): Promise<NewFact> {
    if (!offer) return added;
    const [one] = await offering(deps)([offer]);
    if (one?.no) throw refuse.because(one.no.reason, one.no);
    return one?.fact ?? added;
  }

  async function grantOf(id: string, call: Call): Promise<UserGrantRow> {
    const row = await grantToRead({ owner: organizationOf(call), id }, call.signal);
    if (!row || row.isHidden) throw refuse.notFound("user_grant", id);
    return row;
  }
};

export const userGrantRules = [
  pageRule(ListUserGrantsRequestSchema, 1),
  messageRule(ListUserGrantsRequestSchema, ({ projectId, roleKey }) => (roleKey && !projectId ? [withoutProject] : [])),
];

export function userGrantLateRules({ sql }: Pick<Deps, "sql">) {
  const findingsOf = loadOne<ReturnType<typeof lookupKeyOf>, GrantFindings>(sql, findingsQuestion);
  return [
    lateRule(AddUserGrantRequestSchema, ["projectId", "projectGrantId", "roleKeys"], async (request, call: Call) => {
      // The user may be the invalid field.
      const wanted = { ...wantedOf(organizationOf(call), request), userId: "" };
      return wrongInProject(wanted, await findingsOf(lookupKeyOf(wanted), call.signal));
    }),
  ];
}

const withoutProject: Violation = {
  field: "projectId",
  text: "PROJECT_NEEDED",
  params: { other: "roleKey" },
  reason: "PROJECT_ID_NEEDED",
};

const expirationDate = "(f.payload->>'expirationDate')::timestamptz";

const insertedRow = userGrantInserted(
  ["active"],
  { ...inFact("userId", "projectId", "projectGrantId"), expirationDate, ...historyInFact },
  { columns: ["changed"], values: ["expirationDate"] },
);

export const userGrantFolds = {
  ...userGrantStateFolds,
  added: {
    views: [
      `${insertedRow}
       from $facts f`,
      `insert into user_grant_roles (owner, user_grant_id, project_id, project_grant_id, role_key)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'projectGrantId', k.role_key
       from $facts f cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key)`,
    ],
  },
  changed: {
    views: [
      touch("user_grants", "user_grant_id"),
      `delete from user_grant_roles r using $facts f
       where r.user_grant_id = f.stream and not f.payload->'roleKeys' ? r.role_key`,
      `insert into user_grant_roles (owner, user_grant_id, project_id, project_grant_id, role_key)
       select g.owner, g.user_grant_id, g.project_id, g.project_grant_id, k.role_key
       from $facts f join user_grants g on g.owner = f.owner and g.user_grant_id = f.stream
       cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key)
       on conflict (user_grant_id, role_key) do nothing`,
    ],
  },
  roleRemoved: {
    views: [
      touch("user_grants", "user_grant_id"),
      `delete from user_grant_roles r using $facts f
       where r.user_grant_id = f.stream and r.role_key = f.payload->>'key'`,
    ],
  },
  expirationChanged: { views: [touch("user_grants", "user_grant_id", `expiration_date = ${expirationDate}`)] },
  removed: {
    views: [
      `delete from user_grant_roles r using $facts f where r.user_grant_id = f.stream`,
      `delete from user_grants g using $facts f where g.owner = f.owner and g.user_grant_id = f.stream`,
    ],
  },
} satisfies NounFolds<"userGrant">;

/** Built as a complete message, without createMessage: a list may have a thousand of them. */
function userGrant(row: UserGrantRow): UserGrant {
  const { id, userId, projectId, projectGrantId, roleKeys, active, expirationDate, shutBy } = row;
  const message: UserGrant = {
    $typeName: "postern.v1.UserGrant",
    id,
    details: details(row),
    userId,
    projectId,
    roleKeys,
    state: active ? UserGrantState.ACTIVE : UserGrantState.INACTIVE,
    projectState: stateOfProject(shutBy !== "project"),
    inEffect: active && shutBy === "",
  };
  if (projectGrantId !== null) message.projectGrantId = projectGrantId;
  if (expirationDate !== null) message.expirationDate = timestampFromDate(expirationDate);
  return message;
}

const grantRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, UserGrantRow>(sql, {
    asked: "owner text, id text",
    select: `select n, ${columns} from asked join user_grants g on g.owner = asked.owner and g.user_grant_id = asked.id`,
  });

const sameRoles = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && new Set([...some, ...others]).size === some.length;
