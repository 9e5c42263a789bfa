import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { chooseLanguage } from "../messages/catalogue.ts";
import type { PasswordSignIn } from "../services/sign_in.ts";
import type { ProvenRequest } from "./authorization_request.ts";
import { browserSignIn } from "./browser_session.ts";
import { paths } from "./discovery.ts";
import { callOf } from "./endpoint.ts";
import type { ProviderParts } from "./endpoints.ts";
import { PageError } from "./page_error.ts";
import { type BrowserStep, type Pages, shown, stepOf } from "./pages.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "./parameters.ts";
import { isFormToken, openRequest } from "./sealed_request.ts";
import { signInProblem } from "./sign_in_problem.ts";

/** The route that takes the forms of a sign-in. */
export function signInRoute(parts: ProviderParts & { readonly signIn: PasswordSignIn }, pages: Pages): HttpRoute {
  const { deps, settings, signIn, issuer } = parts;
  const { keyring } = deps.secrets;
  const begin = browserSignIn(deps, signIn, settings);

  return {
    path: paths.signIn,
    methods: ["POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      const language = chooseLanguage(http.headers["accept-language"]) ?? "en";
      return shown(language, parts, () => submitted(http));
    },
  };

  async function submitted(http: HttpRequest): Promise<Response> {
    refuseForeign(http, issuer());
    const form = formIn(http.headers, http.body);
    const query = openRequest(keyring, form.get("request"), deps.clock());
    if (query === undefined) throw new PageError("expired");
    const parameters = parametersIn(query);
    const step = stepOf(pages.jar, http, { parameters, query });
    const action = form.get("action");
    const isPassword = action === "password";
    await refuseForged(form, step, isPassword);
    const proven = await pages.prove(parameters);
    if (isPassword) return password(http, { form, step, proven });
    if (action === "other") return pages.askPassword(proven, step, {});
    return action === "continue"
      ? pages.proceed(proven, { ...step, isConfirmed: true })
      : pages.cancelled(proven, step);
  }

  /** Refuses a form that another site sent, or that was shown in another browser, or to another user. */
  async function refuseForged(form: Parameters, step: BrowserStep, isPassword: boolean): Promise<void> {
    const sessionId = isPassword ? "" : ((await pages.sessionOf(step))?.sessionId ?? "");
    const of = { browser: step.browser, request: form.get("request") ?? "", sessionId };
    if (!isFormToken(keyring, of, form.get("token"))) throw new PageError("expired", {}, 403);
  }

  async function password(http: HttpRequest, { form, step, proven }: Submitted): Promise<Response> {
    const loginName = form.get("login_name")?.slice(0, longestName) ?? "";
    const newPassword = form.get("new_password");
    const request = { loginName, password: form.get("password") ?? "", newPassword, call: callOf(http) };
    try {
      const { cookie, expirationDate, ...session } = await begin(request);
      const cookies = [pages.jar.set("session", cookie, expirationDate)];
      return await pages.signedIn(proven, { ...step, cookies }, session);
    } catch (error) {
      const problem = signInProblem(error, step.language, newPassword !== undefined);
      if (!problem) throw error;
      return pages.askPassword(proven, step, { ...problem, loginName });
    }
  }
}

type Submitted = { readonly form: Parameters; readonly step: BrowserStep; readonly proven: ProvenRequest };

const longestName = 200;

/** Browsers name the origin of a form; one of another site is refused before anything is read. */
function refuseForeign({ headers }: HttpRequest, issuer: string): void {
  if (headers.origin !== undefined && headers.origin !== issuer) throw new PageError("expired", {}, 403);
}
