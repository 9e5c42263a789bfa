import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { InvitationState } from "../../../gen/postern/v1/invitation_pb.ts";
import { details, type Versioned } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { Page } from "../reading/page.ts";
import type { Offers } from "./offers.ts";

export type InvitationRow = Versioned &
  Offers & {
    readonly email: string;
    readonly inviterId: string;
    readonly expirationDate: Date;
  };

/** The columns of an invitation `v` with its address `a`. */
export const invitationColumns = `v.invitation_id as id, v.owner, a.email, v.inviter_id as "inviterId", v.memberships, v.grants,
  v.expiration_date as "expirationDate", v.version, v.created, v.changed`;

/** Joins the address of the invitation `v`. */
export const itsAddress = "join invitation_addresses a on a.invitation_id = v.invitation_id";

export const invitationsOf = (sql: Sql, owner: string, { after, limit }: Page) => sql<InvitationRow[]>`
  select ${sql.unsafe(invitationColumns)} from invitations v ${sql.unsafe(itsAddress)}
  where v.owner = ${owner} and ${after ? sql`v.invitation_id < ${after[0] ?? ""}` : sql`true`}
  order by v.invitation_id desc limit ${limit}`;

export const invitationRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, InvitationRow>(sql, {
    asked: "owner text, id text",
    select: `select n, ${invitationColumns} from asked
             join invitations v on v.owner = asked.owner and v.invitation_id = asked.id ${itsAddress}`,
  });

/** What is offered, as messages have it. */
export const offersShown = ({ memberships, grants }: Offers) => ({
  memberships: memberships.map(({ roles, ...object }) => ({ ...object, roles: [...roles] })),
  grants: grants.map(({ roleKeys, ...project }) => ({ ...project, roleKeys: [...roleKeys] })),
});

export function invitation(row: InvitationRow, now: Date) {
  const { id, email, inviterId, expirationDate } = row;
  return {
    id,
    details: details(row),
    email,
    inviterId,
    ...offersShown(row),
    state: expirationDate > now ? InvitationState.PENDING : InvitationState.EXPIRED,
    expirationDate: timestampFromDate(expirationDate),
  };
}
