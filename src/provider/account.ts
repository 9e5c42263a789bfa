import { Code, ConnectError } from "@connectrpc/connect";
import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { localized, reasonOf } from "../errors.ts";
import { chooseLanguage, type Language } from "../messages/catalogue.ts";
import { pageText } from "../messages/page.ts";
import type { SignIns } from "../services/sign_in.ts";
import { accountApplications } from "./account_applications.ts";
import { accountFactors } from "./account_factors.ts";
import { accountHome } from "./account_home.ts";
import type { AccountPath, AccountSection, AccountView } from "./account_page.ts";
import { accountServices } from "./account_services.ts";
import { accountSessions } from "./account_sessions.ts";
import type { ClientSession } from "./browser_session.ts";
import type { ProviderParts } from "./endpoints.ts";
import { html, pageResponse } from "./html.ts";
import { ownClient, ownClientId } from "./own_client.ts";
import { PageError } from "./page_error.ts";
import { type BrowserStep, type Pages, shown, stepOf } from "./pages.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "./parameters.ts";
import { redirect } from "./response.ts";
import { formToken, isFormToken } from "./sealed_request.ts";
import { refuseForeign } from "./sign_in.ts";

/** The pages of a user's account: sessions, connected applications, factors. The session of the browser opens them, and nothing else. */
export function accountRoutes(
  parts: ProviderParts & { readonly signIns: SignIns },
  pages: Pages,
): readonly HttpRoute[] {
  const { deps, settings, signIns, issuer } = parts;
  const { keyring } = deps.secrets;
  const services = accountServices(deps, settings, signIns);
  const home = accountHome(services, { choose: (view) => signIn(view, { prompt: "select_account" }), cookiesWithout });
  const sections = [home, accountSessions(services), accountApplications(services), accountFactors(services)];
  return sections.map((section) => ({
    path: section.path,
    methods: ["GET", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      const language = chooseLanguage(http.headers["accept-language"]) ?? "en";
      return shown(language, parts, () => answered(section, http));
    },
  }));

  async function answered(section: AccountSection, http: HttpRequest): Promise<Response> {
    const step = stepAt(http, {});
    const sessions = await pages.sessionsOf(step, ownClient);
    const [session] = sessions;
    const isCancelled = parametersIn(http.query).get("error") !== undefined;
    if (!session) return isCancelled ? closed(step.language) : signIn({ http, path: section.path }, {});
    const view = viewOf({ http, step, session }, section.path);
    if (http.method !== "POST") return section.show(view);
    refuseForeign(http, issuer());
    return submitted(section, view, formIn(http.headers, http.body));
  }

  async function submitted(section: AccountSection, view: AccountView, form: Parameters): Promise<Response> {
    const of = { browser: view.browser, request: section.path, sessionId: view.session.sessionId };
    if (!isFormToken(keyring, of, form.get("token"))) throw new PageError("expired", {}, 403);
    if (section.isSensitive(form) && !isFresh(view.session)) return signInAgain(view);
    try {
      return (await section.act(view, form)) ?? redirect(section.path, { cookies: [] });
    } catch (error) {
      if (reasonOf(error) === "SIGN_IN_NOT_FRESH") return signInAgain(view);
      return section.show(view, problemOf(error, view.language));
    }
  }

  function isFresh({ authTime }: ClientSession): boolean {
    return deps.clock().getTime() - authTime.getTime() <= settings.freshSignInSeconds * 1000;
  }

  function signInAgain(view: AccountView): Promise<Response> {
    return signIn(view, { max_age: String(settings.freshSignInSeconds), login_hint: view.session.username });
  }

  /** Begins a sign-in that leads back to the page, as a request of an application does. */
  async function signIn({ http, path }: Pick<AccountView, "http" | "path">, more: Readonly<Record<string, string>>) {
    const step = stepAt(http, { client_id: ownClientId, redirect_uri: path, response_type: "code", ...more });
    return pages.proceed(await pages.prove(step.parameters), step);
  }

  function stepAt(http: HttpRequest, parameters: Readonly<Record<string, string>>): BrowserStep {
    const query = new URLSearchParams(parameters).toString();
    return stepOf(pages.jar, http, { parameters: parametersIn(query), query });
  }

  function viewOf({ http, step, session }: Opened, path: AccountPath): AccountView {
    const { browser, language } = step;
    const token = formToken(keyring, { browser, request: path, sessionId: session.sessionId });
    return { http, path, session, language, browser, token, cookies: [pages.jar.set("browser", browser)] };
  }

  async function cookiesWithout({ http, session }: AccountView): Promise<readonly string[]> {
    const step = stepAt(http, {});
    const sessions = await pages.sessionsOf(step, ownClient);
    const others = sessions.filter(({ sessionId }) => sessionId !== session.sessionId);
    return pages.jar.setSessions(others, step.sessions);
  }
}

type Opened = { readonly http: HttpRequest; readonly step: BrowserStep; readonly session: ClientSession };

/** The page of somebody who did not sign in. */
const closed = (language: Language): Response =>
  pageResponse({
    language,
    title: pageText("account", language),
    body: html`<p>${pageText("account_closed", language)}</p>
<a class="button" href="/account">${pageText("sign_in", language)}</a>`,
  });

/** The reason of a refusal, as the user may see it; nothing where what the form named is gone already. */
function problemOf(error: unknown, language: Language): string | undefined {
  if (!(error instanceof ConnectError) || reasonOf(error) === undefined || reasonOf(error) === "INTERNAL") throw error;
  if (error.code === Code.NotFound) return undefined;
  return localized(error, language).findDetails(LocalizedMessageSchema)[0]?.message ?? pageText("busy", language);
}
