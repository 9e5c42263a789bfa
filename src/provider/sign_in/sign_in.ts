import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { consents } from "../../services/consents/consent.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { bounded, formIn, formMaxBytes, type Parameters, parametersIn, wordsOf } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { refuseForeign } from "../pages/own_address.ts";
import { PageError } from "../pages/page_error.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import { shown } from "../pages/shown.ts";
import type { ProviderParts } from "../parts.ts";
import { authorizationRequest, type ProvenRequest } from "../request/authorization_request.ts";
import { beginningOf, formExpired, queryOf } from "../request/begin_again.ts";
import { callOf } from "../request/endpoint.ts";
import { wantsFactor } from "../request/requested_class.ts";
import { type FormOf, isFormToken } from "../request/sealed_request.ts";
import { type BegunBrowserSession, type BrowserSession, browserSessions } from "./browser_session.ts";
import { type BrowserStep, stepOf, targetOf } from "./browser_step.ts";
import { answerIn } from "./factor_answer.ts";
import { hashesOfKnown } from "./known_browser.ts";
import { factorProblem, signInProblem } from "./sign_in_problem.ts";
import type { SignInSteps } from "./steps.ts";
import { callOfUser } from "./user_call.ts";

type Parts = ProviderParts & { readonly signIns: SignIns };

/** What begins the enrolment of a factor in the midst of a sign-in. */
type Enrolling = {
  readonly begin: (proven: ProvenRequest, step: BrowserStep, session: BegunBrowserSession) => Response;
};

/** The route that takes the forms of a sign-in. */
export function signInRoute(parts: Parts, steps: SignInSteps, enrolment: Enrolling): HttpRoute {
  const { deps, settings, signIns, issuer } = parts;
  const { keyring } = deps.secrets;
  const kindOf = browserSessions(deps, settings);
  const give = consents(deps);

  return {
    path: paths.signIn,
    methods: ["GET", "HEAD", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      return shown(http, {}, () => submitted(http));
    },
  };

  async function submitted(http: HttpRequest): Promise<Response> {
    // Browsers open the address of a form again by GET, from their history or a bookmark.
    if (http.method !== "POST") throw new PageError("expired");
    refuseForeign(http, issuer());
    const form = formIn(http.headers, http.body);
    const query = queryOf(keyring, form, { now: deps.clock(), beginning: beginningOf });
    const parameters = parametersIn(query);
    const proven = await steps.prove(parameters, http);
    const step = await clickedStep(form, stepOf(steps.jar, http, { parameters, query }), proven);
    return act(http, { form, step, proven });
  }

  async function act(http: HttpRequest, submitted: Submitted): Promise<Response> {
    const { form, step, proven } = submitted;
    switch (form.get("account") === undefined ? form.get("action") : "choose") {
      case "password":
        return password(http, submitted);
      case "factor":
        return factor(http, submitted);
      case "passkey":
        return (form.get("pending") ? factor : passkey)(http, submitted);
      case "other":
        return steps.askPassword(proven, step, { loginHint: otherHintOf(step) });
      case "choose":
        return choose(submitted);
      case "continue":
        refuseUnchosen(step);
        return steps.proceed(proven, { ...step, isConfirmed: true });
      case "allow":
        refuseUnchosen(step);
        return allow(http, submitted);
      default:
        return steps.cancelled(proven, step);
    }
  }

  /** The step of a form; refuses one that another site sent, or that was shown in another browser, or to another user. */
  async function clickedStep(form: Parameters, step: BrowserStep, proven: ProvenRequest): Promise<BrowserStep> {
    const of = { browser: step.browser, request: form.get("request") ?? "" };
    const isToken = (more: Pick<FormOf, "sessionId" | "isSignedIn">) =>
      isFormToken(keyring, { ...of, ...more }, form.get("token"));
    if (isToken({ sessionId: "" })) return step;
    for (const { sessionId } of await steps.sessionsOf(step, proven.client)) {
      if (isToken({ sessionId })) return { ...step, chosen: sessionId };
      if (isToken({ sessionId, isSignedIn: true })) return { ...step, chosen: sessionId, isSignedIn: true };
    }
    throw formExpired(beginningOf(step.query));
  }

  /** Goes on with the account that was chosen, which becomes the present one; it is not the one that signed in for this request. */
  async function choose({ form, step, proven }: Submitted): Promise<Response> {
    const chosen = form.get("account");
    const sessions = await steps.sessionsOf(step, proven.client);
    const inOrder = [...sessions.filter(isChosen), ...sessions.filter((session) => !isChosen(session))];
    const cookies = [...steps.jar.setSessions(inOrder, step.sessions)];
    return steps.proceed(proven, { ...step, cookies, chosen, isConfirmed: !proven.device, isSignedIn: false });

    function isChosen({ sessionId }: BrowserSession): boolean {
      return sessionId === chosen;
    }
  }

  /** Records that the user allows the application what it asks for, and goes on. */
  async function allow(http: HttpRequest, { step, proven }: Submitted): Promise<Response> {
    const request = authorizationRequest(proven, step.parameters, issuer());
    const sessions = await steps.sessionsOf(step, targetOf(request));
    const session = sessions.find(({ sessionId }) => sessionId === step.chosen);
    const scopes = wordsOf(request.scope);
    if (session?.permitted) {
      const { owner, userId } = session;
      await give({ owner, userId, appId: proven.client.appId, scopes }, callOfUser(http, session));
    }
    return steps.proceed(proven, { ...step, isConfirmed: true, isAllowed: true });
  }

  async function password(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const loginName = bounded(form, "login_name", longestName)?.trim() ?? "";
    const newPassword = bounded(form, "new_password", longestPassword);
    const password = bounded(form, "password", longestPassword) ?? "";
    const browsers = hashesOfKnown(step.known);
    const request = { loginName, password, newPassword, browsers, call: callOf(http) };
    try {
      const enrolment = wantsFactor(step.parameters) ? "wanted" : "required";
      const outcome = await signIns.signIn(request, kindOf({ earlier: step.sessions, enrolment }));
      if ("pending" in outcome) return steps.askFactor(proven, step, outcome);
      return await signedIn(outcome.answer, { step, proven });
    } catch (error) {
      const problem = signInProblem(error, step.language, newPassword !== undefined);
      if (!problem) throw error;
      noteRefusal(http.values, error);
      return steps.askPassword(proven, step, { ...problem, loginName });
    }
  }

  /** Takes a factor after a right password. */
  async function factor(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const pendingToken = bounded(form, "pending", longestName) ?? "";
    try {
      const kind = kindOf({ earlier: step.sessions });
      const begun = await signIns.complete({ pendingToken, answer: answerIn(form), call: callOf(http) }, kind);
      return await signedIn(begun, { step, proven });
    } catch (error) {
      return again(error, pendingToken, { step, proven });
    }
  }

  /** Asks again after a factor that was refused; for the password where the sign-in is over. */
  async function again(error: unknown, pendingToken: string, { step, proven }: Omit<Submitted, "form">) {
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

  /** Takes a passkey alone. */
  async function passkey(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const answer = answerIn(form);
    const credential = answer.case === "passkey" ? answer.value : {};
    const challengeToken = bounded(form, "challenge", longestToken) ?? "";
    try {
      const kind = kindOf({ earlier: step.sessions });
      const begun = await signIns.passkeys.complete({ challengeToken, credential, call: callOf(http) }, kind);
      return await signedIn(begun, { step, proven });
    } catch (error) {
      const problem = factorProblem(error, step.language);
      if (!problem) throw error;
      noteRefusal(http.values, error);
      return steps.askPassword(proven, step, problem);
    }
  }

  /** Goes on with a session that has begun; it takes the place of the one that its user had in the browser. */
  async function signedIn(begun: BegunBrowserSession, { step, proven }: Omit<Submitted, "form">): Promise<Response> {
    const sessions = await steps.sessionsOf(step, proven.client);
    const others = sessions.filter(({ userId }) => userId !== begun.userId);
    const signed = { ...step, cookies: [...steps.jar.setSessions([begun, ...others], step.sessions)] };
    return begun.enrolmentOnly ? enrolment.begin(proven, signed, begun) : steps.signedIn(proven, signed, begun);
  }
}

/** The login name that the form begins with after a click on "another account": not that of the account which is left. */
const otherHintOf = ({ chosen, parameters }: BrowserStep): string =>
  chosen === undefined ? (parameters.get("login_hint")?.slice(0, longestName) ?? "") : "";

/** Refuses the click of a page that was shown to no session. */
function refuseUnchosen({ chosen, query }: BrowserStep): void {
  if (chosen === undefined) throw formExpired(beginningOf(query));
}

type Submitted = { readonly form: Parameters; readonly step: BrowserStep; readonly proven: ProvenRequest };

const longestName = 200;
const longestToken = 1_000;
// As long as in a call: a longer one could sign in here alone.
const longestPassword = 1000;
