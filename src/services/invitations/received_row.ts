import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ReceivedInvitationSchema } from "../../../gen/postern/v1/invitation_pb.ts";
import { details } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { inForce, isHidden } from "../callers/in_force.ts";
import type { PagePart } from "../reading/page.ts";
import { type InvitationRow, offersShown, receivedColumns } from "./invitation_row.ts";

/** An invitation that an organization receives. */
export type ReceivedRow = InvitationRow & { readonly organizationName: string; readonly isMatch?: boolean };

/** The same with the state that decides whether it can be accepted. */
export type OpenReceived = ReceivedRow & { readonly organizationActive: boolean; readonly inviterActive: boolean };

/** Reads a page of the invitations that an organization receives, for itself and its users. */
export const receivedBy = (sql: Sql, { receiver, now }: Receiver, { after, limit }: PagePart) => sql<ReceivedRow[]>`
  select ${sql.unsafe(receivedColumns)}, h.name as "organizationName",
    v.expiration_date > ${now} and not h.deleted and not ${sql.unsafe(isHidden("v.recipient_id"))} as "isMatch"
  from (
    select r.invitation_id from invitation_receivers r
    where r.receiver_id = ${receiver} and ${after ? sql`r.invitation_id < ${after[0] ?? ""}` : sql`true`}
    order by r.invitation_id desc limit ${limit}) r
  cross join lateral (select * from invitations v where v.invitation_id = r.invitation_id limit 1) v
  cross join lateral (select * from organizations h where h.organization_id = v.owner limit 1) h
  order by v.invitation_id desc`;

/** Reads a page of the invitations that an organization receives for one of its users; for another organization's user, none. */
export const receivedForUser = (sql: Sql, { receiver, userId, now }: ForUser, { after, limit }: PagePart) => sql<
  ReceivedRow[]
>`
  select ${sql.unsafe(receivedColumns)}, h.name as "organizationName",
    v.expiration_date > ${now} and not h.deleted as "isMatch"
  from (
    select v.* from invitations v
    where v.recipient_id = ${userId} and ${after ? sql`v.invitation_id < ${after[0] ?? ""}` : sql`true`}
      and exists (select from all_users u where u.user_id = ${userId} and u.owner = ${receiver} offset 0)
    order by v.invitation_id desc limit ${limit}) v
  cross join lateral (select * from organizations h where h.organization_id = v.owner limit 1) h
  order by v.invitation_id desc`;

type Receiver = { readonly receiver: string; readonly now: Date };
type ForUser = Receiver & { readonly userId: string };

/** Reads one invitation that an organization receives and can still accept. */
export const receivedRead = (sql: Sql) =>
  loadOne<{ receiver: string; id: string; now: string }, OpenReceived>(sql, {
    asked: "receiver text, id text, now timestamptz",
    select: `select n, ${receivedColumns}, h.name as "organizationName", h.active as "organizationActive",
               coalesce((select ${inForce("u")} from users u where u.user_id = v.inviter_id), false) as "inviterActive"
             from asked
             join invitation_receivers r on r.invitation_id = asked.id and r.receiver_id = asked.receiver
             join invitations v on v.invitation_id = r.invitation_id and v.expiration_date > asked.now
             join organizations h on h.organization_id = v.owner and not h.deleted and not ${isHidden("v.recipient_id")}`,
  });

/** An invitation as its receiver sees it. */
export function receivedShown(row: ReceivedRow): MessageInitShape<typeof ReceivedInvitationSchema> {
  const { id, userId, organizationName, expirationDate } = row;
  return {
    id,
    details: details(row),
    organizationName,
    ...(userId !== null && { userId }),
    offer: offerIn(row),
    expirationDate: timestampFromDate(expirationDate),
  };
}

type OfferShown = NonNullable<MessageInitShape<typeof ReceivedInvitationSchema>["offer"]>;

function offerIn(row: ReceivedRow): OfferShown {
  const { projectGrant } = row;
  if (projectGrant) return { case: "projectGrant", value: { ...projectGrant, roleKeys: [...projectGrant.roleKeys] } };
  const { memberships, grants } = offersShown(row);
  const [[membership], [grant = {}]] = [memberships, grants];
  return membership ? { case: "membership", value: membership } : { case: "grant", value: grant };
}
