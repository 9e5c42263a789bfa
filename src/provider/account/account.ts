import { create } from "@bufbuild/protobuf";
import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { DeleteUserSessionsRequestSchema, SessionService } from "../../../gen/postern/v1/session_pb.ts";
import type { Deps } from "../../deps.ts";
import { reasonOf } from "../../errors.ts";
import { isFreshSignIn } from "../../services/callers/fresh_sign_in.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import type { CookieJar } from "../http/cookies.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "../http/parameters.ts";
import { redirect } from "../http/redirect.ts";
import { endSessions, sessionsToEnd } from "../logout/logout_sessions.ts";
import { brandsRead } from "../pages/brand_read.ts";
import { noteBrand } from "../pages/look.ts";
import { refuseForeign } from "../pages/own_address.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { formExpired } from "../request/begin_again.ts";
import { ownClient } from "../request/own_client.ts";
import { formToken, isFormToken } from "../request/sealed_request.ts";
import type { ClientSession } from "../sign_in/browser_session.ts";
import { type BrowserStep, stepOf } from "../sign_in/browser_step.ts";
import type { SignInSteps } from "../sign_in/steps.ts";
import { callOfUser, contextOfUser } from "../sign_in/user_call.ts";
import { accountApplications } from "./account_applications.ts";
import { failureOf } from "./account_attempt.ts";
import { accountDelete, type Leaving } from "./account_delete.ts";
import { accountEmail } from "./account_email.ts";
import { accountFactors } from "./account_factors.ts";
import { accountHome, type Ways } from "./account_home.ts";
import { accountInvitations } from "./account_invitations.ts";
import { type AccountPath, type AccountSection, type AccountView, closedPage } from "./account_page.ts";
import { accountPassword } from "./account_password.ts";
import { accountPhone } from "./account_phone.ts";
import { accountProfile } from "./account_profile.ts";
import { type AccountServices, accountServices } from "./account_services.ts";
import { accountSessions } from "./account_sessions.ts";
import { freshSignIn, isCancelled, signInTo } from "./own_sign_in.ts";

/** The account pages: what users see and change of their own account. Only the browser's session opens them. */
export function accountRoutes(
  parts: ProviderParts & { readonly signIns: SignIns },
  steps: SignInSteps,
): readonly HttpRoute[] {
  const { deps, settings, signIns, issuer } = parts;
  const { keyring } = deps.secrets;
  const brands = brandsRead(deps.sql);
  const services = accountServices({ deps, settings, signIns }, steps.jar);
  const choose = (view: AccountView) => signInTo(steps, view, { prompt: "select_account" });
  return sectionsOf(services, { choose, ...signingOut(deps, steps.jar, services.sessions) }).map((section) => ({
    path: section.path,
    methods: ["GET", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle: (http) => answered(section, http),
  }));

  async function answered(section: AccountSection, http: HttpRequest): Promise<Response> {
    const step = stepOf(steps.jar, http, { parameters: parametersIn(""), query: "" });
    const [session] = await steps.sessionsOf(step, ownClient);
    const { path } = section;
    if (!session && isCancelled(http))
      return closedPage({ language: step.language, brand: await brands.ofInstance() }, path);
    if (!session) return signInTo(steps, { http, path }, {});
    const view = await viewOf({ http, step, session }, path);
    if (http.method !== "POST") return section.show(view);
    refuseForeign(http, issuer());
    return submitted(section, view, formIn(http.headers, http.body));
  }

  async function submitted(section: AccountSection, view: AccountView, form: Parameters): Promise<Response> {
    const of = { browser: view.browser, request: section.path, sessionId: view.session.sessionId };
    if (!isFormToken(keyring, of, form.get("token"))) throw formExpired(section.path);
    if (section.isSensitive(form) && !view.isFresh) return signInAgain(view);
    try {
      return (await section.act(view, form)) ?? redirect(section.path, { cookies: [] });
    } catch (error) {
      if (reasonOf(error) === "SIGN_IN_NOT_FRESH") return signInAgain(view);
      const failed = failureOf(error, form, view.language);
      noteRefusal(view.http.values, error);
      return section.show(view, failed);
    }
  }

  function signInAgain(view: AccountView): Promise<Response> {
    return signInTo(steps, view, freshSignIn(view.session, settings));
  }

  async function viewOf({ http, step, session }: Opened, path: AccountPath): Promise<AccountView> {
    const { browser, language } = step;
    const brand = await brands.ofOrganization(session.owner);
    noteBrand(http.values, brand);
    const token = formToken(keyring, { browser, request: path, sessionId: session.sessionId });
    const look = { language, brand, here: path, cookies: [steps.jar.set("browser", browser)] };
    const isFresh = isFreshSignIn(session, settings, deps.clock());
    return { ...look, http, path, session, browser, token, isFresh };
  }
}

function sectionsOf(services: AccountServices, ways: Ways & { readonly leaving: Leaving }): readonly AccountSection[] {
  const ofUser = [accountProfile, accountEmail, accountPhone, accountPassword, accountFactors];
  return [
    accountHome(services, ways),
    ...[...ofUser, accountSessions, accountApplications, accountInvitations].map((of) => of(services)),
    accountDelete(services, ways.leaving),
  ];
}

type Sessions = ReturnType<typeof accountServices>["sessions"];

function signingOut(deps: Deps, jar: CookieJar, sessions: Sessions) {
  return { signOut: (view: AccountView) => signOut(view), signOutEverywhere, leaving };

  /** The cookies that keep the browser's other accounts signed in. */
  async function leaving({ http, session }: AccountView): Promise<readonly string[]> {
    const cookies = jar.readSessions(http.headers.cookie);
    const { kept } = await sessionsToEnd(deps.sql, { cookies, hint: session });
    return jar.setSessions(kept, cookies);
  }

  /** Signs out of the account, as if an application had asked; the browser's other accounts stay signed in. */
  async function signOut({ http, session }: AccountView, isOfflineOver = false): Promise<readonly string[]> {
    const cookies = jar.readSessions(http.headers.cookie);
    const { ended, kept } = await sessionsToEnd(deps.sql, { cookies, hint: session });
    await endSessions(deps, { ended, isOfflineOver }, callOfUser(http, session));
    return jar.setSessions(kept, cookies);
  }

  /** Ends all of the account's sessions, this one last, and what devices and applications obtained through them. */
  async function signOutEverywhere(view: AccountView): Promise<readonly string[]> {
    const { http, session } = view;
    const request = create(DeleteUserSessionsRequestSchema, { userId: session.userId });
    const context = contextOfUser(http, session, SessionService.method.deleteUserSessions);
    await sessions.deleteUserSessions(request, context);
    return signOut(view, true);
  }
}

type Opened = { readonly http: HttpRequest; readonly step: BrowserStep; readonly session: ClientSession };
