import type { ServiceImpl } from "@connectrpc/connect";
import { DenialReason } from "../../../gen/postern/v1/authorization_pb.ts";
import {
  type ExplainDecisionRequest,
  ExplainedKind,
  type ExplanationService,
} from "../../../gen/postern/v1/explanation_pb.ts";
import { type Call, callerOf, type Deps } from "../../deps.ts";
import { heldIn } from "../../guards/held_permissions.ts";
import { permitted } from "./authorization.ts";
import { type Denial, type ExplainedFinding, explainedRead, shutBy } from "./evaluate.ts";

// One for each organization that gives the role, the project's own and those that it is granted to.
const mostGrants = 100;

/** Explains decisions, by the statement and the rules that make them. */
export const decisionExplanations = ({ sql }: Pick<Deps, "sql">) => {
  const explain = explainedRead(sql);

  return {
    async explainDecision(request, call) {
      const { denial, held } = await explain(lookupOf(request), call);
      const reason = permitted(denial);
      const inSight = held.filter((finding) => isInSight(finding, request, call));
      const grants = inSight.slice(0, mostGrants).map((finding) => grantShown(finding, request));
      return reason === undefined ? { decision: true, grants } : { decision: false, reason, grants };
    },
  } satisfies Partial<ServiceImpl<typeof ExplanationService>>;
};

const lookupOf = ({ userId, roleKey, projectId, organizationId }: ExplainDecisionRequest) => ({
  user_id: userId,
  role_key: roleKey,
  project_id: projectId,
  organization_id: organizationId,
});

/** Whether the caller may read a grant: its own, or as in lists of grants. Callers who may only ask learn the decision and its reason. */
function isInSight({ giver, projectOwner }: ExplainedFinding, request: ExplainDecisionRequest, call: Call): boolean {
  const caller = callerOf(call);
  if (request.userId === caller.userId && !caller.isLimited) return true;
  const { isWhole, projects } = heldIn(caller, giver, ["user.grant.read"]);
  return isWhole || (giver === projectOwner && projects.includes(request.projectId));
}

function grantShown(finding: ExplainedFinding, request: ExplainDecisionRequest) {
  const reason = shutBy(finding);
  const { userGrantId, giver: organizationId } = finding;
  if (reason === undefined) return { userGrantId, organizationId };
  const object = objectOf(reason, finding, request);
  return { userGrantId, organizationId, reason, ...(object ? { object } : {}) };
}

/** The object to change. For a user it is the user, even if the organization is inactive: callers who may ask need not know which. */
function objectOf(reason: Exclude<Denial, undefined>, finding: ExplainedFinding, request: ExplainDecisionRequest) {
  const { userGrantId, giver, projectOwner, isOwnerActive } = finding;
  const owner = projectOwner ?? "";
  switch (reason) {
    case DenialReason.USER_GRANT_INACTIVE:
    case DenialReason.USER_GRANT_EXPIRED:
      return { kind: ExplainedKind.USER_GRANT, id: userGrantId, organizationId: giver };
    case DenialReason.PROJECT_INACTIVE:
      return { kind: ExplainedKind.PROJECT, id: request.projectId, organizationId: owner };
    case DenialReason.ORGANIZATION_INACTIVE:
      return organizationShown(isOwnerActive ? giver : owner);
    case DenialReason.USER_INACTIVE:
      return { kind: ExplainedKind.USER, id: request.userId };
    case DenialReason.UNSPECIFIED:
    case DenialReason.ROLE_NOT_HELD:
    case DenialReason.NOT_PERMITTED:
    case DenialReason.INCOMPLETE:
      return undefined;
  }
}

const organizationShown = (id: string) => ({ kind: ExplainedKind.ORGANIZATION, id, organizationId: id });
