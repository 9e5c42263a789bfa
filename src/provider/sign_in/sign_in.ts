import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { oneAtATime } from "../../security/one_at_a_time.ts";
import { documentApplications } from "../../services/applications/document_application.ts";
import { consents } from "../../services/consents/consent.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { MalformedRequest } from "../http/oauth_error.ts";
import { bounded, formIn, formMaxBytes, type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { organizationIn } from "../pages/organization_field.ts";
import { refuseForeign } from "../pages/own_address.ts";
import { PageError } from "../pages/page_error.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { authorizationRequest, organizationOfRequest, type ProvenRequest } from "../request/authorization_request.ts";
import { beginningOf, formExpired, queryOf } from "../request/begin_again.ts";
import { callOf } from "../request/endpoint.ts";
import { wantsFactor } from "../request/requested_class.ts";
import { allowedScopes } from "../request/resource.ts";
import { type FormOf, isFormToken } from "../request/sealed_request.ts";
import { type BrowserSession, browserSessions } from "./browser_session.ts";
import { type BrowserStep, stepOf, targetOf } from "./browser_step.ts";
import { answerIn } from "./factor_answer.ts";
import { hashesOfKnown } from "./known_browser.ts";
import { askMail, mailCode } from "./mail_step.ts";
import { namesOfPage } from "./names_of_page.ts";
import { factorProblem, signInProblem } from "./sign_in_problem.ts";
import { isAskedAnyway, type SignInSteps } from "./steps.ts";
import {
  type Answering,
  type Asked,
  type Enrolling,
  longestName,
  longestPassword,
  longestToken,
  type Submitted,
  signedIn,
} from "./submitted.ts";
import { callOfUser } from "./user_call.ts";

type Parts = ProviderParts & { readonly signIns: SignIns };

/** The route that the sign-in forms are posted to. */
export function signInRoute(parts: Parts, steps: SignInSteps, enrolment: Enrolling): HttpRoute {
  const { deps, settings, issuer, signIns } = parts;
  const reads = { namesOf: namesOfPage(deps.sql), kindOf: browserSessions(deps, settings) };
  const writes = { give: consents(deps), admit: documentApplications(deps), inTurn: oneAtATime() };
  const on = { deps, issuer, signIns, steps, enrolment, ...reads, ...writes };
  return {
    path: paths.signIn,
    methods: ["GET", "HEAD", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle: (http) => submitted(on, http),
  };
}

async function submitted(on: Answering, http: HttpRequest): Promise<Response> {
  // From history or bookmarks, browsers open a form's address again by GET.
  if (http.method !== "POST") throw new PageError("expired");
  const { deps, issuer, steps } = on;
  refuseForeign(http, issuer());
  const form = formIn(http.headers, http.body);
  const query = queryOf(deps.secrets.keyring, form, { now: deps.clock(), beginning: beginningOf });
  const parameters = parametersIn(query);
  const proven = await steps.prove(parameters, http);
  const asked = { step: stepOf(steps.jar, http, { parameters, query }), proven };
  const step = await clickedStep(on, form, asked);
  return act(on, http, { form, step, proven });
}

async function act(on: Answering, http: HttpRequest, submitted: Submitted): Promise<Response> {
  const { steps } = on;
  const { form, step, proven } = submitted;
  switch (form.get("account") === undefined ? form.get("action") : "choose") {
    case "password":
      return password(on, http, submitted);
    case "factor":
      return factor(on, http, submitted);
    case "passkey":
      return (form.get("pending") ? factor : passkey)(on, http, submitted);
    case "mail":
      return askMail(on, http, submitted);
    case "code":
      return mailCode(on, http, submitted);
    case "other":
      return steps.askPassword(proven, step, {
        loginHint: bounded(form, "login_name", longestName) ?? otherHintOf(step),
      });
    case "choose":
      return choose(on, submitted);
    case "continue":
      refuseUnchosen(step);
      return steps.proceed(proven, { ...step, isConfirmed: true });
    case "allow":
      refuseUnchosen(step);
      return allow(on, http, submitted);
    default:
      return steps.cancelled(proven, step);
  }
}

/** The step of a form; fails if the form comes from another site, browser or user. */
async function clickedStep(
  { deps, steps }: Answering,
  form: Parameters,
  { step, proven }: Asked,
): Promise<BrowserStep> {
  const of = { browser: step.browser, request: form.get("request") ?? "" };
  const isToken = (more: Pick<FormOf, "sessionId" | "isSignedIn">) =>
    isFormToken(deps.secrets.keyring, { ...of, ...more }, form.get("token"));
  if (isToken({ sessionId: "" })) return step;
  for (const { sessionId } of await steps.sessionsOf(step, proven.client)) {
    if (isToken({ sessionId })) return { ...step, chosen: sessionId };
    if (isToken({ sessionId, isSignedIn: true })) return { ...step, chosen: sessionId, isSignedIn: true };
  }
  throw formExpired(beginningOf(step.query));
}

/** Continues with the chosen account, which becomes the current one although its user has not signed in for this request. */
async function choose({ steps }: Answering, { form, step, proven }: Submitted): Promise<Response> {
  const chosen = form.get("account");
  const sessions = await steps.sessionsOf(step, proven.client);
  const inOrder = [...sessions.filter(isChosen), ...sessions.filter((session) => !isChosen(session))];
  const cookies = [...steps.jar.setSessions(inOrder, step.sessions)];
  return steps.proceed(proven, { ...step, cookies, chosen, isConfirmed: !isAskedAnyway(proven), isSignedIn: false });

  function isChosen({ sessionId }: BrowserSession): boolean {
    return sessionId === chosen;
  }
}

/** Records the user's consent, and continues. */
async function allow(on: Answering, http: HttpRequest, { step, proven }: Submitted): Promise<Response> {
  const { give, admit, inTurn, issuer, steps } = on;
  const request = authorizationRequest(proven, step.parameters, issuer());
  const sessions = await steps.sessionsOf(step, targetOf(request));
  const session = sessions.find(({ sessionId }) => sessionId === step.chosen);
  const scopes = allowedScopes(request);
  if (!session?.permitted) return steps.proceed(proven, { ...step, isConfirmed: true, isAllowed: true });
  const { owner, userId } = session;
  const call = callOfUser(http, session);
  // A user's consents run one after another: they are counted before they are written.
  const known = await inTurn(userId, async () => {
    const known = proven.client.bringsDocument ? await admitted() : proven;
    await give({ owner, userId, appId: known.client.appId, scopes }, call);
    return known;
  });
  return steps.proceed(known, { ...step, isConfirmed: true, isAllowed: true });

  /** The request of a client with a document, which becomes an application of the project. */
  async function admitted(): Promise<ProvenRequest> {
    const problem = await admit(proven.client, call);
    if (problem !== undefined) throw new MalformedRequest(problem);
    return steps.prove(step.parameters, http);
  }
}

async function password(on: Answering, http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
  const { signIns, steps, kindOf } = on;
  const loginName = bounded(form, "login_name", longestName)?.trim() ?? "";
  const call = callOf(http);
  const named = organizationOfRequest(proven, step.parameters);
  const organization = organizationIn(form);
  const organizationId = await on.namesOf({ loginName, organizationId: named, organization }, call.signal);
  const newPassword = bounded(form, "new_password", longestPassword);
  const password = bounded(form, "password", longestPassword) ?? "";
  const browsers = hashesOfKnown(step.known);
  const request = { loginName, organizationId, password, newPassword, browsers, call };
  try {
    const enrolment = wantsFactor(step.parameters) ? "wanted" : "required";
    const outcome = await signIns.signIn(request, kindOf({ earlier: step.sessions, enrolment }));
    if ("pending" in outcome) return steps.askFactor(proven, step, outcome);
    return await signedIn(on, outcome.answer, { step, proven });
  } catch (error) {
    const problem = signInProblem(error, step.language, newPassword !== undefined);
    if (!problem) throw error;
    noteRefusal(http.values, error);
    return steps.askPassword(proven, step, { ...problem, loginName, organization });
  }
}

/** Checks a factor after a correct password. */
async function factor(on: Answering, http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
  const { signIns, kindOf } = on;
  const pendingToken = bounded(form, "pending", longestName) ?? "";
  try {
    const kind = kindOf({ earlier: step.sessions });
    const begun = await signIns.complete({ pendingToken, answer: answerIn(form), call: callOf(http) }, kind);
    return await signedIn(on, begun, { step, proven });
  } catch (error) {
    return again(on, { error, pendingToken }, { step, proven });
  }
}

/** Asks again after a wrong factor, or for the password if the sign-in is over. */
async function again({ signIns, steps }: Answering, { error, pendingToken }: Refused, { step, proven }: Asked) {
  const problem = factorProblem(error, step.language);
  if (!problem) throw error;
  noteRefusal(step.values, error);
  if (problem.isOver) return steps.askPassword(proven, step, problem);
  try {
    return steps.askFactor(proven, step, { ...problem, pending: await signIns.pending.again(pendingToken, step) });
  } catch (over) {
    return steps.askPassword(proven, step, factorProblem(over, step.language) ?? problem);
  }
}

/** Signs in with only a passkey. */
async function passkey(on: Answering, http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
  const { signIns, steps, kindOf } = on;
  const answer = answerIn(form);
  const credential = answer.case === "passkey" ? answer.value : {};
  const challengeToken = bounded(form, "challenge", longestToken) ?? "";
  try {
    const kind = kindOf({ earlier: step.sessions });
    const begun = await signIns.passkeys.complete({ challengeToken, credential, call: callOf(http) }, kind);
    return await signedIn(on, begun, { step, proven });
  } catch (error) {
    const problem = factorProblem(error, step.language);
    if (!problem) throw error;
    noteRefusal(http.values, error);
    return steps.askPassword(proven, step, problem);
  }
}

/** The login name to prefill after a click on "another account": not that of the account that the user leaves. */
const otherHintOf = ({ chosen, parameters }: BrowserStep): string =>
  chosen === undefined ? (parameters.get("login_hint")?.slice(0, longestName) ?? "") : "";

/** Refuses the click if its page was shown without a session. */
function refuseUnchosen({ chosen, query }: BrowserStep): void {
  if (chosen === undefined) throw formExpired(beginningOf(query));
}

/** A refused factor, and the sign-in that still waits for one. */
type Refused = { readonly error: unknown; readonly pendingToken: string };
