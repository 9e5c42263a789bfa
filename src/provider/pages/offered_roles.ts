import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import type { OfferedGrant } from "../../services/invitations/offers.ts";
import type { OpenInvitation } from "../../services/invitations/open_invitation.ts";
import type { OfferedMembership } from "../../services/members/offered_membership.ts";

const roleTexts: Readonly<Record<string, PageText>> = {
  ORG_OWNER: "role_owner",
  ORG_USER_MANAGER: "role_user_manager",
  ORG_VIEWER: "role_viewer",
  PROJECT_OWNER: "role_owner",
  PROJECT_GRANT_OWNER: "role_owner",
  PROJECT_VIEWER: "role_viewer",
  PROJECT_GRANT_VIEWER: "role_viewer",
  PROJECT_EVALUATOR: "role_evaluator",
};

/** Roles that an organization offers, with the names of their projects. */
type Offered = Pick<OpenInvitation, "organizationName" | "projectNames"> & {
  readonly memberships: readonly Pick<OfferedMembership, "projectId" | "roles">[];
  readonly grants: readonly Pick<OfferedGrant, "projectId" | "roleKeys">[];
};

/** The offer in words. */
export function offersIn({ language }: { readonly language: Language }, offered: Offered): readonly string[] {
  const { organizationName, projectNames, memberships, grants } = offered;
  const projectName = (id: string) => projectNames[id] ?? pageText("invited_place_gone", language);
  const within = (place: string, roles: readonly string[]) =>
    roles.length === 0 ? place : pageText("invited_roles", language, { place, roles: roles.join(", ") });
  return [
    ...memberships.map(({ projectId, roles }) => {
      const names = roles.map((role) => (roleTexts[role] ? pageText(roleTexts[role], language) : role));
      return within(projectId === "" ? organizationName : projectName(projectId), names);
    }),
    ...grants.map(({ projectId, roleKeys }) => within(projectName(projectId), roleKeys)),
  ];
}
