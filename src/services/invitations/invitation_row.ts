import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { InvitationState } from "../../../gen/postern/v1/invitation_pb.ts";
import { details } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { Page } from "../reading/page.ts";
import { history, insertOf, type RowOf, selected } from "../reading/row.ts";
import type { Reached } from "./invitation_reach.ts";
import { expirationOf, type Offers } from "./offers.ts";

const offered = {
  owner: "text",
  inviterId: "text",
  memberships: "jsonb",
  grants: "jsonb",
  projectGrant: "jsonb?",
} as const;

const known = { expirationDate: "timestamptz", ...history } as const;

/** Columns that are written, but not read with the others. */
const unread = {
  recipientId: "text?",
  kind: "text?",
  objectId: "text?",
  projectId: "text?",
  projectGrantId: "text?",
} as const;

/** An invitation's columns other than the id, from which its row, select lists and insert derive. */
export const invitationRow = { ...offered, ...known, ...unread };

export type InvitationRow = Omit<RowOf<typeof offered & typeof known>, keyof Offers> &
  Offers & {
    readonly id: string;
    /** The invited address; empty for what an organization receives. */
    readonly email: string;
    /** The user for whom an organization receives it. */
    readonly userId: string | null;
  };

const offers = selected("v", Object.keys(offered), { lines: ["projectGrant"], indent: 2 });

const columns = `v.invitation_id as id, ${offers}, case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
  ${selected("v", Object.keys(known))}`;

/** Composes the insert of an invitation. */
export const invitationInserted = insertOf({ table: "invitations", id: "invitation_id" }, invitationRow);

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
