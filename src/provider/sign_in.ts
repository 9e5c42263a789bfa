import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { chooseLanguage } from "../messages/catalogue.ts";
import type { SignIns } from "../services/sign_in.ts";
import type { ProvenRequest } from "./authorization_request.ts";
import { type BegunBrowserSession, browserSessions } from "./browser_session.ts";
import { paths } from "./discovery.ts";
import { callOf } from "./endpoint.ts";
import type { ProviderParts } from "./endpoints.ts";
import type { EnrolmentPages } from "./enrolment.ts";
import { answerIn } from "./factor_answer.ts";
import { PageError } from "./page_error.ts";
import { type BrowserStep, type Pages, shown, stepOf } from "./pages.ts";
import { bounded, formIn, formMaxBytes, type Parameters, parametersIn } from "./parameters.ts";
import { noteRefusal } from "./request_notes.ts";
import { wantsFactor } from "./requested_class.ts";
import { refuseForeign } from "./same_origin.ts";
import { isFormToken, openRequest } from "./sealed_request.ts";
import { factorProblem, signInProblem } from "./sign_in_problem.ts";

type Parts = ProviderParts & { readonly signIns: SignIns };

/** The route that takes the forms of a sign-in. */
export function signInRoute(parts: Parts, pages: Pages, enrolment: EnrolmentPages): HttpRoute {
  const { deps, settings, signIns, issuer } = parts;
  const { keyring } = deps.secrets;
  const kindOf = browserSessions(deps, settings);

  return {
    path: paths.signIn,
    methods: ["GET", "HEAD", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      const language = chooseLanguage(http.headers["accept-language"]) ?? "en";
      return shown(http, { language }, () => submitted(http));
    },
  };

  async function submitted(http: HttpRequest): Promise<Response> {
    // Browsers open the address of a form again by GET, from their history or a bookmark.
    if (http.method !== "POST") throw new PageError("expired");
    refuseForeign(http, issuer());
    const form = formIn(http.headers, http.body);
    const query = openRequest(keyring, form.get("request"), deps.clock());
    if (query === undefined) throw new PageError("expired");
    const parameters = parametersIn(query);
    const step = stepOf(pages.jar, http, { parameters, query });
    const action = form.get("action") ?? "";
    await refuseForged(form, step, signInActions.includes(action));
    const proven = await pages.prove(parameters, http);
    if (action === "password") return password(http, { form, step, proven });
    if (action === "factor") return factor(http, { form, step, proven });
    if (action === "passkey") return (form.get("pending") ? factor : passkey)(http, { form, step, proven });
    if (action === "other") return pages.askPassword(proven, step, {});
    return action === "continue"
      ? pages.proceed(proven, { ...step, isConfirmed: true })
      : pages.cancelled(proven, step);
  }

  /** Refuses a form that another site sent, or that was shown in another browser, or to another user. */
  async function refuseForged(form: Parameters, step: BrowserStep, isSignIn: boolean): Promise<void> {
    const sessionId = isSignIn ? "" : ((await pages.sessionOf(step))?.sessionId ?? "");
    const of = { browser: step.browser, request: form.get("request") ?? "", sessionId };
    if (!isFormToken(keyring, of, form.get("token"))) throw new PageError("expired", {}, 403);
  }

  async function password(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const loginName = bounded(form, "login_name", longestName)?.trim() ?? "";
    const newPassword = bounded(form, "new_password", longestPassword);
    const password = bounded(form, "password", longestPassword) ?? "";
    const request = { loginName, password, newPassword, call: callOf(http) };
    try {
      const enrolment = wantsFactor(step.parameters) ? "wanted" : "required";
      const outcome = await signIns.signIn(request, kindOf({ earlier: step.session, enrolment }));
      if ("pending" in outcome) return pages.askFactor(proven, step, outcome);
      return await signedIn(outcome.answer, { step, proven });
    } catch (error) {
      const problem = signInProblem(error, step.language, newPassword !== undefined);
      if (!problem) throw error;
      noteRefusal(http.values, error);
      return pages.askPassword(proven, step, { ...problem, loginName });
    }
  }

  /** Takes a factor after a right password. */
  async function factor(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const pendingToken = bounded(form, "pending", longestName) ?? "";
    try {
      const kind = kindOf({ earlier: step.session });
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
    if (problem.isOver) return pages.askPassword(proven, step, problem);
    try {
      return pages.askFactor(proven, step, { ...problem, pending: await signIns.pending.again(pendingToken, step) });
    } catch (over) {
      return pages.askPassword(proven, step, factorProblem(over, step.language) ?? problem);
    }
  }

  /** Takes a passkey alone. */
  async function passkey(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const answer = answerIn(form);
    const credential = answer.case === "passkey" ? answer.value : {};
    const challengeToken = bounded(form, "challenge", longestToken) ?? "";
    try {
      const kind = kindOf({ earlier: step.session });
      const begun = await signIns.passkeys.complete({ challengeToken, credential, call: callOf(http) }, kind);
      return await signedIn(begun, { step, proven });
    } catch (error) {
      const problem = factorProblem(error, step.language);
      if (!problem) throw error;
      noteRefusal(http.values, error);
      return pages.askPassword(proven, step, problem);
    }
  }

  async function signedIn(begun: BegunBrowserSession, { step, proven }: Omit<Submitted, "form">): Promise<Response> {
    const { cookie, expirationDate, ...session } = begun;
    const cookies = [pages.jar.set("session", cookie, expirationDate)];
    const signed = { ...step, cookies, session: cookie };
    if (session.enrolmentOnly) return enrolment.begin(proven, signed, session);
    return pages.signedIn(proven, signed, session);
  }
}

type Submitted = { readonly form: Parameters; readonly step: BrowserStep; readonly proven: ProvenRequest };

// Their forms are shown before anybody is signed in, or whoever is.
const signInActions: readonly string[] = ["password", "factor", "passkey"];

const longestName = 200;
const longestToken = 1_000;
// As long as in a call: a longer one could sign in here alone.
const longestPassword = 1000;
