import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { FactorKind } from "../../../gen/postern/v1/factor_pb.ts";
import type { UserFilter } from "../../../gen/postern/v1/user_pb.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { factorKindOf } from "../factors/factor.ts";
import type { FactorKindName } from "../policies/factor_kind.ts";
import type { Fragment } from "../reading/list_statement.ts";

// A sign-in writes the row of its password or of the factor that it uses; for others, there is a session.
/** SQL for the time of the latest sign-in of the user `u`; null if there is none, or none is remembered. */
const lastSignIn = `greatest(
      (select p.last_sign_in from passwords p where p.user_id = u.user_id),
      (select max(f.last_used) from factors f where f.user_id = u.user_id),
      (select s.created from sessions s where s.user_id = u.user_id order by s.session_id desc limit 1))`;

/** SQL for whether the user `u`, who has no password, holds a code with which to choose one. */
const isInvited = `(not exists (select from passwords p where p.user_id = u.user_id offset 0)
      and exists (select from mail_codes c
        where c.user_id = u.user_id and c.purpose = 'password' and c.expiration_date > now() offset 0))`;

type SignInRow = {
  readonly lastSignIn: Date | null;
  readonly passwordChanged: Date | null;
  readonly isInvited: boolean;
  readonly factors: readonly FactorKindName[];
};

/** Reads how a user signs in; concurrent reads share a statement. */
export function userSignInRead(sql: Sql) {
  const read = loadOne<{ id: string }, SignInRow>(sql, {
    asked: "id text",
    select: `select n, ${lastSignIn} as "lastSignIn",
      (select p.changed from passwords p where p.user_id = u.user_id) as "passwordChanged", ${isInvited} as "isInvited",
      array(select distinct f.kind from factors f where f.user_id = u.user_id order by f.kind) as factors
      from asked join users u on u.user_id = asked.id`,
  });
  return async (id: string, signal: AbortSignal) => {
    const row = await read({ id }, signal);
    return row && userSignIn(row);
  };
}

const userSignIn = ({ lastSignIn: last, passwordChanged, isInvited: invitationPending, factors }: SignInRow) => ({
  ...(last && { lastSignInDate: timestampFromDate(last) }),
  ...(passwordChanged && { passwordChangeDate: timestampFromDate(passwordChanged) }),
  invitationPending,
  factors: factors.map(factorKindOf),
});

/** The conditions of a filter by how users sign in, none of which has an index. */
export function signInConditions(sql: Sql, filter: UserFilter): Fragment[] {
  const { lastSignInBefore, passwordChangedBefore, invitationPending } = filter;
  return [
    ...verifiedConditions(sql, filter),
    ...factorConditions(sql, filter),
    ...(invitationPending === undefined ? [] : [sql`${sql.unsafe(isInvited)} = ${invitationPending}`]),
    ...(lastSignInBefore
      ? [sql`(u.kind = 'human' and coalesce(${sql.unsafe(lastSignIn)} < ${dateOf(lastSignInBefore)}, true))`]
      : []),
    ...(passwordChangedBefore
      ? [
          sql`exists (select from passwords p where p.user_id = u.user_id and p.changed < ${dateOf(passwordChangedBefore)} offset 0)`,
        ]
      : []),
  ];
}

const dateOf = (time: Timestamp): Date => timestampDate(time);

function verifiedConditions(sql: Sql, { emailVerified, phoneVerified }: UserFilter): Fragment[] {
  return [
    ...(emailVerified === undefined ? [] : [sql`(u.email is not null and u.email_verified = ${emailVerified})`]),
    ...(phoneVerified === undefined ? [] : [sql`(u.phone is not null and u.phone_verified = ${phoneVerified})`]),
  ];
}

function factorConditions(sql: Sql, { hasFactor, factor }: UserFilter): Fragment[] {
  const held = (which: Fragment) =>
    sql`exists (select from factors f where f.user_id = u.user_id and ${which} offset 0)`;
  const full = held(sql`f.kind <> 'recovery_codes'`);
  return [
    ...(hasFactor === undefined ? [] : [hasFactor ? full : sql`(u.kind = 'human' and not ${full})`]),
    ...(factor === FactorKind.UNSPECIFIED ? [] : [held(sql`f.kind = ${nameOf(factor)}`)]),
  ];
}

const factorKinds: readonly FactorKindName[] = ["totp", "passkey", "recovery_codes"];

const nameOf = (factor: FactorKind): string => factorKinds.find((kind) => factorKindOf(kind) === factor) ?? "";
