import { NameOrder } from "../../../gen/postern/v1/list_order_pb.ts";
import { type ListUsersRequest, type UserFilter, UserKind, UserState } from "../../../gen/postern/v1/user_pb.ts";
import type { Violation } from "../../errors.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { organizationIsThere } from "../callers/in_force.ts";
import { type Fragment, type NamedList, type TextFilter, textFilters, wordsIn } from "../reading/list_statement.ts";
import { e164 } from "../verification/phone_number.ts";
import { userColumns } from "./user_row.ts";
import { signInConditions } from "./user_sign_in.ts";

export const userTexts = [
  "loginName",
  "loginNamePrefix",
  "name",
  "namePrefix",
  "email",
  "emailPrefix",
  "phone",
  "phonePrefix",
] as const;

type UserQuery = Pick<ListUsersRequest, "filter" | "order" | "userIds"> & {
  /** The region of national phone numbers. */
  readonly region: string | undefined;
  readonly now: Date;
};

/** The users of an organization, or of all organizations. */
export function userList(sql: Sql, owner: string | undefined, query: UserQuery): NamedList {
  const { filter, order, userIds, region, now } = query;
  const isByAgeAlone = owner === undefined || userIds.length > 0;
  const { served, unserved } = conditionsOf(sql, { filter, now });
  return {
    texts: filter ? textsOf(filter, region) : [],
    words: wordsIn(filter?.search ?? ""),
    entry: filter?.metadata,
    entries: sql`(select user_id as id, key, value from user_metadata where owner = ${owner ?? sql`u.owner`}) m`,
    order: isByAgeAlone && order === NameOrder.UNSPECIFIED ? NameOrder.NEWEST : order,
    columns: userColumns,
    table: sql`users u`,
    ...(userIds.length > 0 && { few: sql`(select * from users where user_id = any(${[...userIds]}) offset 0) u` }),
    isByAgeAlone,
    alias: "u",
    id: "u.user_id",
    name: "u.username",
    scope: owner === undefined ? undefined : { column: "u.owner", value: owner },
    terms: sql`(select * from terms where noun = 'user' and scope = ${owner ?? ""}) w`,
    ownWords: "u.words",
    served,
    unserved: owner === undefined ? [...unserved, sql`${sql.unsafe(organizationIsThere("u.owner"))}`] : unserved,
  };
}

/** The field that makes a list come in the order of age alone. */
export function isOfAge({ userIds, instance }: ListUsersRequest): string | undefined {
  if (instance) return "instance";
  return userIds.length > 0 ? "userIds" : undefined;
}

function textsOf(filter: UserFilter, region: string | undefined): TextFilter[] {
  return textFilters([
    ["folded(u.username)", filter.loginName, filter.loginNamePrefix],
    ["u.phone", filter.phone && (e164(filter.phone, region) ?? digitsOf(filter.phone)), digitsOf(filter.phonePrefix)],
    ["folded(u.email)", filter.email, filter.emailPrefix],
    ["folded(user_name(u.name, u.given_name, u.family_name))", filter.name, filter.namePrefix],
  ]);
}

/** Refuses a phone filter without a digit, which would filter nothing. */
export const wrongPhones = ({ filter }: ListUsersRequest): Violation[] =>
  (["phone", "phonePrefix"] as const).flatMap((name) =>
    filter?.[name] && digitsOf(filter[name]) === ""
      ? [{ field: `filter.${name}`, text: "PHONE_EMPTY", reason: "PHONE_EMPTY" }]
      : [],
  );

/** A phone number without separators. */
const digitsOf = (phone: string) => phone.normalize("NFKC").replace(/[\s()./-]/g, "");

/** The conditions of state and kind; the rarer one is covered by its index. */
function conditionsOf(sql: Sql, { filter, now }: Pick<UserQuery, "filter" | "now">) {
  const { state = UserState.UNSPECIFIED, kind = UserKind.UNSPECIFIED } = filter ?? {};
  const others = filter ? signInConditions(sql, filter) : [];
  const ofState = stateConditions(sql, state, now);
  const ofKind = kindCondition(sql, kind);
  const [served, ...unserved] = isRare(state) ? [...ofState, ...ofKind] : [...ofKind, ...ofState];
  return { served, unserved: [...unserved, ...others] };
}

const isRare = (state: UserState) => state === UserState.INACTIVE || state === UserState.LOCKED;

function kindCondition(sql: Sql, kind: UserKind): Fragment[] {
  if (kind === UserKind.HUMAN) return [sql`(u.kind collate "C") = ${"human"}`];
  return kind === UserKind.MACHINE ? [sql`(u.kind collate "C") = ${"machine"}`] : [];
}

/** The condition that an index covers, and the rest. */
function stateConditions(sql: Sql, state: UserState, now: Date): Fragment[] {
  const isLocked = sql`(u.locked and (u.locked_until is null or u.locked_until > ${now}))`;
  if (state === UserState.INACTIVE) return [sql`u.active = false`];
  if (state === UserState.LOCKED) return [sql`u.locked`, sql`u.active and ${isLocked}`];
  return state === UserState.ACTIVE ? [sql`u.active = true`, sql`not ${isLocked}`] : [];
}
