import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { InvitationState } from "../../../gen/postern/v1/invitation_pb.ts";
import { details, type Versioned } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { Page } from "../reading/page.ts";
import type { Reached } from "./invitation_reach.ts";
import { expirationOf, type Offers } from "./offers.ts";

export type InvitationRow = Versioned &
  Offers & {
    /** The invited address; empty for an invitation that an organization receives. */
    readonly email: string;
    /** The user for whom an organization receives it. */
    readonly userId: string | null;
    readonly inviterId: string;
    readonly expirationDate: Date;
  };

const columns = `v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
  v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
  v.expiration_date as "expirationDate", v.version, v.created, v.changed`;

/** The columns of an invitation `v` with its address `a`. */
export const invitationColumns = `${columns}, coalesce(a.email, '') as email`;

/** The columns of an invitation `v` that an organization receives. */
export const receivedColumns = `${columns}, '' as email`;

/** Joins the address of the invitation `v`, if it has one. */
export const itsAddress = "left join invitation_addresses a on a.invitation_id = v.invitation_id";

export const invitationsOf = (sql: Sql, { owner, within }: Reached, { after, limit }: Page) => sql<InvitationRow[]>`
  select ${sql.unsafe(invitationColumns)} from invitations v ${sql.unsafe(itsAddress)}
  where v.owner = ${owner} and ${within} and ${after ? sql`v.invitation_id < ${after[0] ?? ""}` : sql`true`}
  order by v.invitation_id desc limit ${limit}`;

export async function invitationOf(sql: Sql, { owner, within }: Reached, id: string) {
  const [row] = await sql<InvitationRow[]>`
    select ${sql.unsafe(invitationColumns)} from invitations v ${sql.unsafe(itsAddress)}
    where v.owner = ${owner} and v.invitation_id = ${id} and ${within}`;
  return row;
}

/** The offers as messages have them. */
export const offersShown = ({ memberships, grants }: Pick<Offers, "memberships" | "grants">) => ({
  memberships: memberships.map(({ roles, ...object }) => ({ ...object, roles: [...roles] })),
  grants: grants.map((grant) => {
    const { projectId, projectGrantId, roleKeys } = grant;
    const expirationDate = expirationOf(grant);
    return { projectId, projectGrantId, roleKeys: [...roleKeys], ...(expirationDate && { expirationDate }) };
  }),
});

export function invitation(row: InvitationRow, now: Date) {
  const { id, email, inviterId, userId, projectGrant, expirationDate } = row;
  return {
    id,
    details: details(row),
    email,
    inviterId,
    ...offersShown(row),
    ...(userId !== null && { userId }),
    ...(projectGrant && { projectGrant: { ...projectGrant, roleKeys: [...projectGrant.roleKeys] } }),
    state: expirationDate > now ? InvitationState.PENDING : InvitationState.EXPIRED,
    expirationDate: timestampFromDate(expirationDate),
  };
}
