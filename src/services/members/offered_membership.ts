import type { JsonValue } from "@bufbuild/protobuf";
import { RoleKind } from "../../../gen/postern/v1/user_role_pb.ts";
import { type At, factOf, type NewFact } from "../../events/fact.ts";
import { isEnded } from "../callers/ended_roles.ts";
import { membershipIsLeft } from "../callers/in_force.ts";
import type { No } from "../writing/batch_refusal.ts";
import type { Acceptance } from "../writing/offer.ts";
import { acceptanceOfMember, askedObject, type MembershipObject, namedBy, scopeOf } from "./member.ts";

/** A membership that an invitation offers; without ids, in the organization that invites. */
export type OfferedMembership = {
  readonly roles: readonly string[];
  readonly projectId: string;
  readonly projectGrantId: string;
};

/** The state that decides about an offered membership. */
export type MembershipFindings = Acceptance & {
  readonly objectExists: boolean;
  readonly projectId: string | null;
  /** Whether the user, or its organization, has ended the roles given by the organization that invites. */
  readonly isEnded: boolean;
  /** The id of the user's existing membership there. */
  readonly memberId: string | null;
};

/** The object of an offered membership. */
export function objectOfOffer(owner: string, { projectId, projectGrantId }: OfferedMembership): MembershipObject {
  const scope = scopeOf({ instance: false, projectId, projectGrantId });
  return { owner, scope, id: projectGrantId || projectId || owner, project: projectId };
}

/** The query for the state that decides about an offered membership. */
export const membershipQuestion = {
  asked: `owner text, scope text, id text, project text, "user" text`,
  select: `select n, asked.scope = 'organization' or coalesce(p.project_id, g.project_id) is not null as "objectExists",
             coalesce(p.project_id, g.project_id) as "projectId",
             ${isEnded(RoleKind.MEMBERSHIP, { user: 'asked."user"', giver: "asked.owner" })} as "isEnded",
             (select m.member_id from members m
              where m.user_id = asked."user" and m.scope = asked.scope and m.scope_id = asked.id
                and ${membershipIsLeft}) as "memberId",
             ${acceptanceOfMember}
           ${askedObject}`,
};

/** Finds why a membership cannot be given, to anybody or to this user; `path` leads to it. */
export function refusedMembership(
  { projectId, projectGrantId }: OfferedMembership,
  findings: MembershipFindings | undefined,
  { path, userId }: { readonly path: string; readonly userId: string | undefined },
): No | undefined {
  if (!findings?.objectExists) return projectGrantId ? noGrant(projectGrantId, path) : noProject(projectId, path);
  if (userId === undefined) return undefined;
  const field = path.replace(/\.$/, "");
  if (findings.isEnded) return { reason: "ENDED_BY_RECEIVER", field, params: { userId } };
  if (findings.memberId === null) return undefined;
  return { reason: "MEMBER_EXISTS", field, params: { userId }, resource: { noun: "member", id: userId } };
}

function noProject(id: string, path: string): No {
  const [reason, field] = ["PROJECT_NOT_FOUND", `${path}projectId`] as const;
  return { reason, field, params: { id }, resource: { noun: "project", id } };
}

function noGrant(id: string, path: string): No {
  const [reason, field] = ["PROJECT_GRANT_NOT_FOUND", `${path}projectGrantId`] as const;
  return { reason, field, params: { id }, resource: { noun: "project_grant", id } };
}

/** A membership that a user gets by accepting an invitation. */
type Accepted = { readonly userId: string; readonly invitationId: string; readonly secret: JsonValue };

/** Makes the fact that gives an offered membership. */
export function acceptedMembership(
  at: At,
  offer: OfferedMembership,
  { projectId, ...of }: Accepted & Pick<MembershipFindings, "projectId">,
): NewFact {
  const { userId, invitationId, secret } = of;
  const value = {
    userId,
    roles: [...offer.roles],
    ...namedBy(objectOfOffer(at.owner, offer), projectId),
    invitationId,
  };
  return factOf("member", at, { case: "added", value }, secret);
}
