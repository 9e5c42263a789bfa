import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ExplainedKind, SignInCheck, SignInOutcome, SignInReason } from "../../../gen/postern/v1/explanation_pb.ts";
import type { OutlookUser, SignInOutlook } from "../../services/sessions/sign_in_outlook.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { isForeign } from "../request/own_client.ts";
import type { ClientSession } from "../sign_in/browser_session.ts";
import { nextStep } from "../sign_in/decision.ts";
import { grantObject, isInEffect, problemOf, projectObject } from "./explained_grants.ts";
import { type ObjectShown, organizationShown } from "./explained_object.ts";
import type { Explained } from "./explained_read.ts";
import type { PlannedRequest } from "./planned_request.ts";

/** One check of a sign-in, as the response shows it. */
export type StepShown = {
  readonly check: SignInCheck;
  readonly outcome: SignInOutcome;
  readonly reason: SignInReason;
  readonly object?: ObjectShown;
  readonly until?: Timestamp;
};

type Result = Omit<StepShown, "check">;

const result =
  (outcome: SignInOutcome) =>
  (reason: SignInReason, object?: ObjectShown): Result => ({ outcome, reason, ...(object ? { object } : {}) });

const passed = result(SignInOutcome.PASSED);
const asked = result(SignInOutcome.ASKED);
const refused = result(SignInOutcome.REFUSED);
const unknown: Result = { outcome: SignInOutcome.UNKNOWN, reason: SignInReason.UNSPECIFIED };

const step = (check: SignInCheck, result: Result): StepShown => ({ check, ...result });

export const isRefused = ({ outcome }: StepShown): boolean => outcome === SignInOutcome.REFUSED;

/** The checks of the application and of its request. */
export function applicationSteps(found: Explained, request: PlannedRequest): StepShown[] {
  const application = step(SignInCheck.APPLICATION, ofApplication(found));
  return found.isApi ? [application] : [application, step(SignInCheck.REQUEST, ofRequest(found, request))];
}

function ofApplication(found: Explained): Result {
  const { client, isApi } = found;
  const object = applicationObject(found);
  if (isApi) return refused(SignInReason.API_APPLICATION, object);
  if (client.active) return passed(SignInReason.UNSPECIFIED, object);
  if (!found.isApplicationActive) return refused(SignInReason.APPLICATION_INACTIVE, object);
  if (!found.isProjectActive) return refused(SignInReason.PROJECT_INACTIVE, projectObject(found));
  return refused(SignInReason.ORGANIZATION_INACTIVE, organizationShown(client.owner));
}

function ofRequest(found: Explained, request: PlannedRequest): Result {
  const object = applicationObject(found);
  switch (request) {
    case "no issuer":
      return refused(SignInReason.NO_ISSUER);
    case "no redirect URI":
      return refused(SignInReason.NO_REDIRECT_URI, object);
    case "invalid":
      return refused(SignInReason.REQUEST_INVALID, object);
    default:
      return passed(SignInReason.UNSPECIFIED, object);
  }
}

/**
 * The checks for callers who may not read the user, or for a user who does not exist. The user may have grants that the caller cannot see,
 * so no check fails.
 */
export function limitedSteps({ grants }: Pick<Explained, "grants">, organizationId: string | undefined): StepShown[] {
  const inEffect = grants.filter(isInEffect);
  const [grant] = inEffect;
  const ofOrganization = inEffect.find(({ owner }) => owner === organizationId);
  const access = grant ? passed(SignInReason.USER_GRANT, grantObject(grant)) : unknown;
  return [
    step(SignInCheck.USER, unknown),
    step(SignInCheck.ACCESS, access),
    step(SignInCheck.ORGANIZATION, organization()),
  ];

  function organization(): Result {
    if (organizationId === undefined) return passed(SignInReason.OWN_ORGANIZATION);
    return ofOrganization ? passed(SignInReason.GRANT_OF_ORGANIZATION, grantObject(ofOrganization)) : unknown;
  }
}

/** A user whom the caller may read, and what a sign-in would ask for. */
export type UserExplained = { readonly user: OutlookUser; readonly outlook: SignInOutlook };

/** The checks of the user, up to the end of the sign-in at Postern itself. */
export function userSteps({ user, outlook }: UserExplained): StepShown[] {
  const ofUser = step(SignInCheck.USER, userResult(user));
  if (isRefused(ofUser)) return [ofUser];
  const first = step(SignInCheck.FIRST_STEP, firstResult(user, outlook.first));
  return [
    ofUser,
    first,
    step(SignInCheck.PASSWORD_CHANGE, changeResult(user, outlook.change)),
    step(SignInCheck.SECOND_FACTOR, factorResult(user, outlook.factor)),
  ];
}

function userResult(user: OutlookUser): Result {
  const object = userObject(user);
  if (user.kind !== "human") return refused(SignInReason.MACHINE, object);
  if (user.active) return passed(SignInReason.UNSPECIFIED, object);
  if (!user.isItselfActive) return refused(SignInReason.USER_INACTIVE, object);
  return refused(SignInReason.USER_ORGANIZATION_INACTIVE, organizationShown(user.owner));
}

const firstReasons = {
  password: SignInReason.PASSWORD,
  passkey: SignInReason.PASSKEY,
  mail: SignInReason.MAILED_CODE,
  locked: SignInReason.LOCKED,
  waiting: SignInReason.WAITING,
  empty: SignInReason.NO_CREDENTIAL,
} as const;

function firstResult(user: OutlookUser, first: SignInOutlook["first"]): Result {
  const object = userObject(user);
  if ("by" in first) return asked(firstReasons[first.by], object);
  const until = first.shut === "empty" ? undefined : first.until;
  return { ...refused(firstReasons[first.shut], object), ...(until ? { until: timestampFromDate(until) } : {}) };
}

function changeResult(user: OutlookUser, change: SignInOutlook["change"]): Result {
  switch (change) {
    case "first":
      return asked(SignInReason.CHANGE_OF_FIRST, userObject(user));
    case "administrator":
      return asked(SignInReason.CHANGE_AFTER_ADMINISTRATOR, policyObject(ExplainedKind.PASSWORD_POLICY, user));
    case "age":
      return asked(SignInReason.CHANGE_OF_OLD, policyObject(ExplainedKind.PASSWORD_POLICY, user));
    case undefined:
      return passed(SignInReason.NO_CHANGE);
  }
}

function factorResult(user: OutlookUser, factor: SignInOutlook["factor"]): Result {
  switch (factor) {
    case "entered":
      return asked(SignInReason.FACTOR, userObject(user));
    case "user":
      return asked(SignInReason.ENROLMENT_OF_USER, userObject(user));
    case "policy":
    case "application":
      return asked(SignInReason.ENROLMENT_BY_POLICY, policyObject(ExplainedKind.FACTOR_POLICY, user));
    case "none":
      return passed(SignInReason.NO_FACTOR);
  }
}

/** The checks of the user's access to the application. */
export function accessSteps(
  found: Explained,
  request: PlannedRequest,
  { user }: Pick<UserExplained, "user">,
): StepShown[] {
  if (typeof request === "string") return [step(SignInCheck.ACCESS, accessResult(found))];
  const steps = [
    step(SignInCheck.ACCESS, accessResult(found)),
    step(SignInCheck.ORGANIZATION, organizationResult(found, request.organizationId)),
  ];
  // Users who may not use the application are not asked.
  return steps.some(isRefused) ? steps : [...steps, step(SignInCheck.CONSENT, consentResult(found, request, user))];
}

function accessResult(found: Explained): Result {
  if (!found.permitted) return notPermitted(found);
  const { client, userOwner, projectGrantId: id, grantRequired } = found;
  const grant = found.grants.find(isInEffect);
  if (grant) return passed(SignInReason.USER_GRANT, grantObject(grant));
  if (!grantRequired && userOwner === client.owner) return passed(SignInReason.OWN_PROJECT, projectObject(found));
  // A grant that is not among the first ones may be the reason as well.
  if (grantRequired || id === null) return passed(SignInReason.USER_GRANT);
  return passed(SignInReason.PROJECT_GRANT, { kind: ExplainedKind.PROJECT_GRANT, id, organizationId: client.owner });
}

function notPermitted(found: Explained): Result {
  const [grant] = found.grants;
  if (grant) return refused(SignInReason.GRANT_NOT_IN_EFFECT, problemOf(grant, found).object);
  const reason = found.grantRequired ? SignInReason.GRANT_REQUIRED : SignInReason.PROJECT_NOT_GRANTED;
  return refused(reason, projectObject(found));
}

function organizationResult(found: Explained, organizationId: string | undefined): Result {
  const { userOwner, grants, reachable } = found;
  const named = organizationId ?? userOwner ?? "";
  const grant = grants.find(({ owner }) => owner === named);
  if (!reachable)
    return refused(SignInReason.NO_GRANT_OF_ORGANIZATION, grant ? problemOf(grant, found).object : undefined);
  if (named === userOwner) return passed(SignInReason.OWN_ORGANIZATION, organizationShown(named));
  return passed(SignInReason.GRANT_OF_ORGANIZATION, grant && grantObject(grant));
}

/** Runs the sign-in's own decision about consent, for a browser in which the user has just signed in for the request. */
function consentResult(found: Explained, request: AuthorizationRequest, user: OutlookUser): Result {
  const session = plannedSession(found, user);
  const { is } = nextStep(request, {
    sessions: [session],
    expectedUser: undefined,
    chosen: session.sessionId,
    now: session.authTime,
    isConfirmed: true,
    isAllowed: false,
    isSignedIn: true,
  });
  if (is === "consent") return asked(SignInReason.CONSENT_NEEDED, applicationObject(found));
  return isForeign(request.client, user.owner)
    ? passed(SignInReason.CONSENT_GIVEN, applicationObject(found))
    : passed(SignInReason.CONSENT_NOT_NEEDED);
}

/** The session that a sign-in would begin, as far as decisions about it need it. */
const plannedSession = ({ permitted, reachable, allowed }: Explained, user: OutlookUser): ClientSession => ({
  sessionId: "planned",
  userId: user.id,
  owner: user.owner,
  username: "",
  qualifiedName: user.qualifiedName,
  organization: "",
  displayName: "",
  email: null,
  cookie: "",
  authTime: new Date(0),
  expirationDate: new Date(0),
  methods: ["mfa"],
  hasFactor: true,
  permitted: permitted && reachable,
  allowed,
});

const applicationObject = ({ client: { appId, owner } }: Explained): ObjectShown => ({
  kind: ExplainedKind.APPLICATION,
  id: appId,
  organizationId: owner,
});

export const userObject = ({ id, owner }: Pick<OutlookUser, "id" | "owner">): ObjectShown => ({
  kind: ExplainedKind.USER,
  id,
  organizationId: owner,
});

const policyObject = (kind: ExplainedKind, { owner }: OutlookUser): ObjectShown => ({
  kind,
  id: owner,
  organizationId: owner,
});
