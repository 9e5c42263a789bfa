import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { ExplainSignInRequest, ExplanationService } from "../../../gen/postern/v1/explanation_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { heldIn, holding } from "../../guards/held_permissions.ts";
import type { Permission } from "../../guards/permissions.ts";
import type { PublicSettings } from "../../security/passkey.ts";
import { acrOf } from "../../services/callers/authentication_class.ts";
import { type SignInOutlook, signInOutlookRead } from "../../services/sessions/sign_in_outlook.ts";
import { type IssuerSettings, issuerOf } from "../http/issuer.ts";
import { organizationNamed } from "../request/authorization_request.ts";
import { mailOffers } from "../sign_in/names_of_page.ts";
import { declaredRead } from "../tokens/declared_claims.ts";
import { plannedSignOnRead } from "../tokens/grant_read.ts";
import { claimsShown } from "./explained_claims.ts";
import { grantsShown } from "./explained_grants.ts";
import { type Explained, explainedRead, type GrantFound } from "./explained_read.ts";
import { type PlannedRequest, plannedParameters, plannedRequest } from "./planned_request.ts";
import {
  accessSteps,
  applicationSteps,
  isRefused,
  limitedSteps,
  type StepShown,
  type UserExplained,
  userSteps,
} from "./sign_in_steps.ts";

export type ExplanationSettings = PublicSettings & IssuerSettings;

/** Explains sign-ins, by the reads and rules of the sign-in; nothing is written. */
export const signInExplanations = (deps: Pick<Deps, "sql" | "clock">, settings: ExplanationSettings) => {
  const { sql, clock } = deps;
  const read = explainedRead(sql);
  const outlookOf = signInOutlookRead(sql, settings);
  const mailOffered = mailOffers(sql);
  const claimsOf = claimsRead(deps);

  return {
    async explainSignIn(request, call) {
      const asked = keyOf(request, call, clock());
      const found = await read(asked, call.signal);
      if (!found) throw refuse.notFound("application", request.appId);
      const issuer = issuerHere(settings, call);
      const planned = plannedRequest(found.client, request, issuer);
      const ofApplication = applicationSteps(found, planned);
      const user = await userOf(found, { id: request.userId, organizationId: asked.organization ?? undefined }, call);
      const inSight = user ? found : { ...found, grants: grantsInSight(found, call) };
      const grants = grantsShown(inSight);
      if (found.isApi) return { maySignIn: false, steps: ofApplication, grants, limited: !user };
      if (!user) return { ...limited(inSight, ofApplication, asked.organization), grants };
      const steps = [...ofApplication, ...userSteps(user), ...accessSteps(found, planned, user)];
      const answer = { maySignIn: !steps.some(isRefused), steps, grants };
      const isPossible = answer.maySignIn && typeof planned !== "string" && issuer !== undefined;
      return isPossible ? { ...answer, ...(await claimsOf({ found, request: planned, user, issuer }, call)) } : answer;
    },
  } satisfies Partial<ServiceImpl<typeof ExplanationService>>;

  /** The user, if the caller may read it. */
  async function userOf({ userOwner: owner }: Explained, { id, organizationId }: Signing, call: Call) {
    if (owner === null || !mayRead(call, "user.read", { owner, id })) return undefined;
    const offersMail = (loginName: string) => mailOffered({ loginName, organizationId, organization: "" }, call.signal);
    return outlookOf({ of: { owner, id }, now: clock(), offersMail }, call.signal);
  }
};

/** The user who signs in, and the organization that the request names. */
type Signing = { readonly id: string; readonly organizationId: string | undefined };

function keyOf(request: ExplainSignInRequest, call: Call, now: Date) {
  const { projectId: project, appId: app, userId: user } = request;
  const organization = organizationNamed(plannedParameters(request)) ?? null;
  return { owner: organizationOf(call), project, app, user, organization, now: now.toISOString() };
}

/** The response for callers who may not read the user; the same for a user who does not exist. */
function limited(found: Explained, ofApplication: StepShown[], organization: string | null) {
  const steps = [...ofApplication, ...limitedSteps(found, organization ?? undefined)];
  return { ...(steps.some(isRefused) ? { maySignIn: false } : {}), steps, limited: true };
}

/**
 * The grants that callers see who may not read the user: as in lists of grants, those that the project's own organization gave, with
 * `user.grant.read`. Grants of other organizations would reveal who exists there, and in which role.
 */
function grantsInSight({ client: { owner, projectId }, grants }: Explained, call: Call): readonly GrantFound[] {
  const { isWhole, projects } = heldIn(callerOf(call), owner, ["user.grant.read"]);
  return isWhole || projects.includes(projectId) ? grants.filter((grant) => grant.owner === owner) : [];
}

/** Whether the caller holds a permission in an organization, or asks about itself. */
function mayRead(call: Call, permission: Permission, { owner, id }: { owner: string; id?: string }): boolean {
  const caller = callerOf(call);
  if (id === caller.userId && !caller.isLimited) return true;
  return holding(caller, permission).some(
    ({ scope, id: of }) => scope === "instance" || (scope === "organization" && of === owner),
  );
}

type Possible = {
  readonly found: Explained;
  readonly request: Exclude<PlannedRequest, string>;
  readonly user: UserExplained;
  readonly issuer: string;
};

/** Makes the read of the claims of a possible sign-in, and of the authentication context class that it reaches. */
function claimsRead({ sql, clock }: Pick<Deps, "sql" | "clock">) {
  const [signOnOf, withDeclared] = [plannedSignOnRead(sql), declaredRead(sql)];
  return async ({ found, request, user: { user, outlook }, issuer }: Possible, call: Call) => {
    const { client, scope, organizationId } = request;
    const { appId, projectId } = client;
    const methods = methodsOf(outlook);
    const planned = { userId: user.id, appId, projectId, scope, organizationId, methods };
    const bare = await signOnOf(planned, clock(), call.signal);
    // Something has changed since the rest was read.
    if (!bare) return {};
    const signOn = await withDeclared(client, bare);
    const reads = {
      userMetadata: mayRead(call, "user.metadata.read", user),
      organizationMetadata: mayRead(call, "org.metadata.read", { owner: signOn.organizationId }),
    };
    return { acr: acrOf(methods), ...claimsShown({ request, signOn, issuer, grants: found.grants, reads }) };
  };
}

/** The methods of the sign-in, as far as they decide its class. */
const methodsOf = ({ first, factor }: SignInOutlook): readonly string[] =>
  factor === "none" && !("by" in first && first.by === "passkey") ? ["pwd"] : ["mfa"];

/** The issuer; if the node chose its own port, with the port of the call. */
const issuerHere = (settings: ExplanationSettings, { url }: Pick<HandlerContext, "url">): string | undefined =>
  issuerOf(settings, settings.port || Number(new URL(url).port));
