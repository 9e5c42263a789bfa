import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { chooseLanguage } from "../messages/catalogue.ts";
import type { SignIns } from "../services/sign_in.ts";
import type { ProvenRequest } from "./authorization_request.ts";
import { type BegunBrowserSession, browserSessions } from "./browser_session.ts";
import { paths } from "./discovery.ts";
import { callOf } from "./endpoint.ts";
import type { ProviderParts } from "./endpoints.ts";
import { PageError } from "./page_error.ts";
import { type BrowserStep, type Pages, shown, stepOf } from "./pages.ts";
import { bounded, formIn, formMaxBytes, type Parameters, parametersIn } from "./parameters.ts";
import { isFormToken, openRequest } from "./sealed_request.ts";
import { factorProblem, signInProblem } from "./sign_in_problem.ts";

/** The route that takes the forms of a sign-in. */
export function signInRoute(parts: ProviderParts & { readonly signIns: SignIns }, pages: Pages): HttpRoute {
  const { deps, settings, signIns, issuer } = parts;
  const { keyring } = deps.secrets;
  const kindOf = browserSessions(deps, settings);

  return {
    path: paths.signIn,
    methods: ["GET", "HEAD", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      const language = chooseLanguage(http.headers["accept-language"]) ?? "en";
      return shown(language, parts, () => submitted(http));
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
    const action = form.get("action");
    const isSignIn = action === "password" || action === "factor";
    await refuseForged(form, step, isSignIn);
    const proven = await pages.prove(parameters);
    if (action === "password") return password(http, { form, step, proven });
    if (action === "factor") return factor(http, { form, step, proven });
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
    const loginName = form.get("login_name")?.slice(0, longestName) ?? "";
    const newPassword = bounded(form, "new_password", longestPassword);
    const password = bounded(form, "password", longestPassword) ?? "";
    const request = { loginName, password, newPassword, call: callOf(http) };
    try {
      const outcome = await signIns.signIn(request, kindOf());
      if ("pending" in outcome) return pages.askFactor(proven, step, { pendingToken: outcome.pending.token });
      return await signedIn(outcome.answer, { step, proven });
    } catch (error) {
      const problem = signInProblem(error, step.language, newPassword !== undefined);
      if (!problem) throw error;
      return pages.askPassword(proven, step, { ...problem, loginName });
    }
  }

  /** Takes the code of a factor after a right password: six digits of an application, or a recovery code. */
  async function factor(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const pendingToken = form.get("pending")?.slice(0, longestName) ?? "";
    const code = form.get("code")?.replaceAll(/\s/g, "").slice(0, longestName) ?? "";
    const answer = { case: /^\d{6}$/.test(code) ? ("totpCode" as const) : ("recoveryCode" as const), value: code };
    try {
      const begun = await signIns.complete({ pendingToken, answer, call: callOf(http) }, kindOf());
      return await signedIn(begun, { step, proven });
    } catch (error) {
      const problem = factorProblem(error, step.language);
      if (!problem) throw error;
      return problem.isOver
        ? pages.askPassword(proven, step, problem)
        : pages.askFactor(proven, step, { ...problem, pendingToken });
    }
  }

  async function signedIn(begun: BegunBrowserSession, { step, proven }: Omit<Submitted, "form">): Promise<Response> {
    const { cookie, expirationDate, ...session } = begun;
    const cookies = [pages.jar.set("session", cookie, expirationDate)];
    return pages.signedIn(proven, { ...step, cookies }, session);
  }
}

type Submitted = { readonly form: Parameters; readonly step: BrowserStep; readonly proven: ProvenRequest };

const longestName = 200;
// As long as in a call: a longer one could sign in here alone.
const longestPassword = 1000;

/** Browsers name the origin of a form; one of another site is refused before anything is read. */
export function refuseForeign({ headers }: HttpRequest, issuer: string): void {
  if (headers.origin !== undefined && headers.origin !== issuer) throw new PageError("expired", {}, 403);
}
