import { Code, ConnectError } from "@connectrpc/connect";
import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { isLostRace, localized, reasonOf } from "../errors.ts";
import { chooseLanguage, type Language } from "../messages/catalogue.ts";
import { pageText } from "../messages/page.ts";
import type { SignIns } from "../services/sign_in.ts";
import { accountApplications } from "./account_applications.ts";
import { accountFactors } from "./account_factors.ts";
import { accountHome } from "./account_home.ts";
import { type AccountPath, type AccountSection, type AccountView, closedPage } from "./account_page.ts";
import { accountServices } from "./account_services.ts";
import { accountSessions } from "./account_sessions.ts";
import type { ClientSession } from "./browser_session.ts";
import type { ProviderParts } from "./endpoints.ts";
import { endSessions, sessionsToEnd } from "./logout_sessions.ts";
import { ownClient } from "./own_client.ts";
import { freshSignIn, isCancelled, isFresh, signInTo } from "./own_sign_in.ts";
import { PageError } from "./page_error.ts";
import { type BrowserStep, type Pages, shown, stepOf } from "./pages.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "./parameters.ts";
import { noteRefusal } from "./request_notes.ts";
import { redirect } from "./response.ts";
import { refuseForeign } from "./same_origin.ts";
import { formToken, isFormToken } from "./sealed_request.ts";
import { callOfUser } from "./user_call.ts";

/** The pages of a user's account: sessions, connected applications, factors. The session of the browser opens them, and nothing else. */
export function accountRoutes(
  parts: ProviderParts & { readonly signIns: SignIns },
  pages: Pages,
): readonly HttpRoute[] {
  const { deps, settings, signIns, issuer } = parts;
  const { keyring } = deps.secrets;
  const services = accountServices(deps, settings, signIns);
  const home = accountHome({ choose: (view) => signInTo(pages, view, { prompt: "select_account" }), signOut });
  const sections = [home, accountSessions(services), accountApplications(services), accountFactors(services)];
  return sections.map((section) => ({
    path: section.path,
    methods: ["GET", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      const language = chooseLanguage(http.headers["accept-language"]) ?? "en";
      return shown(http, { language }, () => answered(section, http));
    },
  }));

  async function answered(section: AccountSection, http: HttpRequest): Promise<Response> {
    const step = stepOf(pages.jar, http, { parameters: parametersIn(""), query: "" });
    const [session] = await pages.sessionsOf(step, ownClient);
    const { path } = section;
    if (!session) return isCancelled(http) ? closedPage(step.language, path) : signInTo(pages, { http, path }, {});
    const view = viewOf({ http, step, session }, path);
    if (http.method !== "POST") return section.show(view);
    refuseForeign(http, issuer());
    return submitted(section, view, formIn(http.headers, http.body));
  }

  async function submitted(section: AccountSection, view: AccountView, form: Parameters): Promise<Response> {
    const of = { browser: view.browser, request: section.path, sessionId: view.session.sessionId };
    if (!isFormToken(keyring, of, form.get("token"))) throw new PageError("expired", {}, 403);
    if (section.isSensitive(form) && !isFresh(view.session, settings, deps.clock())) return signInAgain(view);
    try {
      return (await section.act(view, form)) ?? redirect(section.path, { cookies: [] });
    } catch (error) {
      if (reasonOf(error) === "SIGN_IN_NOT_FRESH") return signInAgain(view);
      const problem = problemOf(error, view.language);
      noteRefusal(view.http.values, error);
      return section.show(view, problem);
    }
  }

  function signInAgain(view: AccountView): Promise<Response> {
    return signInTo(pages, view, freshSignIn(view.session, settings));
  }

  function viewOf({ http, step, session }: Opened, path: AccountPath): AccountView {
    const { browser, language } = step;
    const token = formToken(keyring, { browser, request: path, sessionId: session.sessionId });
    return { http, path, session, language, browser, token, cookies: [pages.jar.set("browser", browser)] };
  }

  /** Signs out the account, as at the request of an application; the other ones of the browser stay. */
  async function signOut({ http, session }: AccountView): Promise<readonly string[]> {
    const cookies = pages.jar.readSessions(http.headers.cookie);
    const { ended, kept } = await sessionsToEnd(deps.sql, { cookies, hint: session });
    await endSessions(deps, ended, callOfUser(http, session));
    return pages.jar.setSessions(kept, cookies);
  }
}

type Opened = { readonly http: HttpRequest; readonly step: BrowserStep; readonly session: ClientSession };

/** The reason of a refusal, as the user may see it; nothing where what the form named is gone already. */
function problemOf(error: unknown, language: Language): string | undefined {
  if (!(error instanceof ConnectError) || reasonOf(error) === undefined || reasonOf(error) === "INTERNAL") throw error;
  // The page runs again.
  if (isLostRace(error)) throw error;
  if (error.code === Code.NotFound) return undefined;
  return localized(error, language).findDetails(LocalizedMessageSchema)[0]?.message ?? pageText("busy", language);
}
