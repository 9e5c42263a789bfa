import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Call, callerOf, type Deps } from "../../deps.ts";
import { factOf, first, type NewFact } from "../../events/fact.ts";
import type { Step } from "../../events/fold.ts";
import { holdsThere } from "../../guards/missing_permission.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { No } from "./batch_refusal.ts";

/** The number of days for which an invitation that an organization receives can be accepted. */
const receivedDays = 30;

export const receivedUntil = (now: Date): Date => new Date(now.getTime() + receivedDays * 86_400_000);

/** The maximum number of invitations of an organization. */
export const mostInvitations = 1_000;

/** The result of an accepted invitation. */
export type Kind = "member" | "user_grant" | "project_grant";

// As scalar subselects, both are looked up by their keys, whatever the size of the tables.
/**
 * SQL for the organization of a user, if it is not the one that gives, and requires acceptance. Users who wait for their erasure count,
 * too: they may come back with roles given meanwhile.
 */
export const deciderOfUser = (user: string, giver: string): string => `(select (
      select h.organization_id from organizations h where h.organization_id = u.owner and h.requires_acceptance)
    from all_users u where u.user_id = ${user} and u.owner <> ${giver})`;

/** SQL for the id of the invitation by which an organization already offers this. */
export const offeredAs = (kind: Kind, of: Readonly<Record<"recipient" | "object" | "giver", string>>): string => `(
    select v.invitation_id from invitations v
    where (v.recipient_id, v.kind, v.object_id, v.owner) = (${of.recipient}, '${kind}', ${of.object}, ${of.giver}))`;

/** The state that decides whether something is given or offered. */
export type Acceptance = {
  /** The organization that has to accept first. */
  readonly decidedBy: string | null;
  /** The id of the invitation that already offers it. */
  readonly offeredAs: string | null;
};

/** The organization that has to accept first; undefined if none has to, or if the caller may accept for it. */
export function deciderIn({ decidedBy }: Pick<Acceptance, "decidedBy">, call: Call): string | undefined {
  if (decidedBy === null) return undefined;
  const there = { scope: "organization", id: decidedBy, organization: decidedBy, roles: [] } as const;
  return holdsThere(callerOf(call), "org.write", there) ? undefined : decidedBy;
}

/** The reason for refusing a change that gives more than the receiver has accepted, or for not giving something yet. */
export const unaccepted = (field: string): No => ({ reason: "ACCEPTANCE_REQUIRED", field });

type OfferedMember = Readonly<Record<"projectId" | "projectGrantId", string>> & { readonly roles: readonly string[] };
type OfferedRoles = Readonly<Record<"projectId" | "projectGrantId", string>> & {
  readonly roleKeys: readonly string[];
  readonly expirationDate?: Timestamp | undefined;
};
type OfferedProject = Readonly<Record<"projectId" | "organizationId", string>> & {
  readonly roleKeys: readonly string[];
};

/** Something to offer, and the organization that has to accept it. */
export type Offer = {
  readonly owner: string;
  readonly receiver: string;
  readonly offeredAs: string | null;
  /** Its path in the request. */
  readonly path: string;
  /** The user who gets it, if it is not the receiver. */
  readonly userId?: string;
  readonly membership?: OfferedMember;
  readonly grant?: OfferedRoles;
  readonly projectGrant?: OfferedProject;
  /** The inviter who vouches for it; by default the caller. */
  readonly inviterId?: string;
};

/** An offer and its outcome: the fact that invites, or the reason for refusing it. */
export type Offered =
  | { readonly fact: NewFact; readonly no?: undefined }
  | { readonly no: No; readonly fact?: undefined };

/** Makes the decision about offers of one organization: each can be offered once, and there is a limit to all. */
export function offering({ sql, ids, clock }: Pick<Deps, "sql" | "ids" | "clock">) {
  return async (offers: readonly Offer[]): Promise<readonly Offered[]> => {
    const [some] = offers;
    let count = some ? await invitationsOf(sql, some.owner) : 0;
    return offers.map((offer) => {
      const no = refusedOffer(offer, count);
      if (no) return { no };
      count += 1;
      return { fact: offerFact(offer) };
    });
  };

  function offerFact({ owner, receiver, membership, grant, projectGrant, ...of }: Offer): NewFact {
    const at = first(owner, ids(), clock());
    const value = {
      memberships: membership ? [{ ...membership, roles: [...membership.roles] }] : [],
      grants: grant ? [{ ...grant, roleKeys: [...grant.roleKeys] }] : [],
      ...(projectGrant && { projectGrant: { ...projectGrant, roleKeys: [...projectGrant.roleKeys] } }),
      ...(of.userId !== undefined && { userId: of.userId }),
      ...(of.inviterId !== undefined && { inviterId: of.inviterId }),
      expirationDate: timestampFromDate(receivedUntil(clock())),
    };
    return factOf("invitation", at, { case: "created", value }, { receiverId: receiver });
  }
}

/** Counts the invitations of an organization, up to the limit. */
async function invitationsOf(sql: Sql, owner: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from (select from invitations v where v.owner = ${owner} limit ${mostInvitations}) v`;
  return row?.count ?? 0;
}

function refusedOffer({ offeredAs: id, path }: Offer, count: number): No | undefined {
  const field = path.replace(/\.$/, "");
  if (id !== null)
    return {
      reason: "INVITATION_EXISTS",
      field,
      params: { invitationId: id },
      resource: { noun: "invitation", id },
    };
  const params = { limit: String(mostInvitations) };
  return count < mostInvitations ? undefined : { reason: "INVITATION_LIMIT", field, params };
}

/** The invitations `v` that end with the objects that they are joined to: nobody can accept them any more. */
export const invitationsEnd = (from: string): Step => ({
  makes: "invitation.ended",
  select: `select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from $input i ${from}`,
});
