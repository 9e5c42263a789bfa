import type { HttpRequest, Response } from "@postern/gateway";
import { keys } from "../deps.ts";
import { retry } from "../guards/retry.ts";
import type { Language } from "../messages/language.ts";
import { newToken } from "../security/token.ts";
import { isMultiFactor } from "../services/callers/authentication_class.ts";
import type { SignIns } from "../services/sessions/sign_in.ts";
import { notices } from "../services/verification/notice.ts";
import {
  type AuthorizationRequest,
  authorizationRequest,
  languageIn,
  type ProvenRequest,
} from "./authorization_request.ts";
import {
  type BegunBrowserSession,
  browserSessionsRead,
  type ClientSession,
  type SessionClient,
} from "./browser_session.ts";
import { accountsForm, consentForm } from "./choice_form.ts";
import { askedScopes, consentNamesRead, isForeign, scopeSentences } from "./consent.ts";
import { type CookieJar, cookieJar } from "./cookies.ts";
import { type Clicks, nextStep, type StepState } from "./decision.ts";
import { deviceCancelled, deviceConfirmation } from "./device_form.ts";
import { denyDevice } from "./device_proof.ts";
import { oauthErrorOf } from "./endpoint.ts";
import type { ProviderParts } from "./endpoints.ts";
import { type FactorState, factorForm } from "./factor_form.ts";
import { issuing, type SessionOfUser } from "./issue.ts";
import { claimsOfOwn } from "./jwt.ts";
import { knownBrowsers } from "./known_browser.ts";
import { OauthError } from "./oauth_error.ts";
import { isOwnClient } from "./own_client.ts";
import { type ErrorTexts, errorPage, PageError } from "./page_error.ts";
import type { Parameters } from "./parameters.ts";
import { requestProof } from "./prove.ts";
import { redirect } from "./redirect.ts";
import { noteClient, noteFailure } from "./request_notes.ts";
import { authorizationResponse, errorResponse } from "./response.ts";
import { formSeconds, formToken, sealRequest } from "./sealed_request.ts";
import { confirmationForm, type Form, type PasswordState, passwordForm } from "./sign_in_form.ts";
import type { TokenMaker } from "./tokens.ts";

/** A step of a sign-in in a browser: the request, its parameters, the cookies that came, and those that are to be set. */
export type BrowserStep = Clicks & {
  readonly parameters: Parameters;
  /** The query of the authorization request, as it was sent. */
  readonly query: string;
  /** The context values of the request. */
  readonly values: HttpRequest["values"];
  readonly language: Language;
  /** Whether the request is a form of ours. */
  readonly byForm: boolean;
  /** The value of the cookie of this browser, which its forms are bound to. */
  readonly browser: string;
  /** The values of the sessions of this browser, the present one first. */
  readonly sessions: readonly string[];
  /** The tokens by which this browser is known to users. */
  readonly known: readonly string[];
  readonly cookies: string[];
  readonly signal: AbortSignal;
};

type BegunSession = Omit<BegunBrowserSession, "expirationDate" | "enrolmentOnly">;

/** The steps that every page of a sign-in is made of. */
export type Pages = ReturnType<typeof signInPages>;

/** Makes the steps of a sign-in, which authorize begins and the forms go on with. */
export function signInPages(parts: ProviderParts & { readonly maker: TokenMaker; readonly signIns: SignIns }) {
  const { deps, settings, maker, issuer, keys, signIns } = parts;
  const { sql, clock, secrets } = deps;
  const jar = cookieJar(issuer);
  const [prove, readSessions, namesOf] = [requestProof(sql), browserSessionsRead(sql), consentNamesRead(sql)];
  const [issue, remember, notice] = [issuing({ deps, settings, maker }), knownBrowsers(parts), notices(deps, settings)];

  return {
    jar,
    /** Proves client and redirect URI of a request, before which nothing is sent anywhere. */
    async prove(parameters: Parameters, { values }: Pick<HttpRequest, "values">): Promise<ProvenRequest> {
      const proven = await prove(parameters, clock());
      noteClient(values, proven.client);
      return proven;
    },
    sessionsOf,

    /** Goes on with a request: shows a page, or sends the browser back. */
    proceed: (proven: ProvenRequest, step: BrowserStep): Promise<Response> =>
      withErrors(proven, step, async () => {
        const request = authorizationRequest(proven, step.parameters, issuer());
        const [sessions, expectedUser] = await Promise.all([
          sessionsOf(step, targetOf(request)),
          expectedUserOf(request),
        ]);
        return shownNext(request, step, { sessions, expectedUser });
      }),

    signedIn,
    askPassword,
    askFactor,

    /** Sends the browser back without a sign-in, and denies a device. */
    async cancelled(proven: ProvenRequest, step: BrowserStep): Promise<Response> {
      if (!proven.device)
        return errorResponse(proven, new OauthError("access_denied", "the user cancelled"), contextOf(step));
      await denyDevice(deps.sql, proven.device, clock());
      return deviceCancelled(proven, contextOf(step));
    },
  };

  /** Goes on after a full sign-in, which makes the browser known, unless another user was expected; for a device it has to confirm. */
  async function signedIn(proven: ProvenRequest, before: BrowserStep, session: BegunSession): Promise<Response> {
    const { userId, sessionId } = session;
    const { cookie } = await remember(before.known, { userId, sessionId, ...notice("new_device", before) });
    const step = { ...before, cookies: [...before.cookies, cookie] };
    return withErrors(proven, step, async () => {
      const request = authorizationRequest(proven, step.parameters, issuer());
      const expectedUser = await expectedUserOf(request);
      if (expectedUser !== undefined && expectedUser !== session.userId)
        throw new OauthError("login_required", "another user signed in than id_token_hint names");
      if (request.wantsFactor && !isMultiFactor(session.methods))
        throw new OauthError("unmet_authentication_requirements", "the user has no second factor");
      if (!isQuestioned(request, session)) return respond(request, step, session);
      const clicks = { chosen: session.sessionId, isConfirmed: request.device === undefined, isSignedIn: true };
      const sessions = await sessionsOf({ ...step, sessions: [session.cookie] }, targetOf(request));
      return shownNext(request, { ...step, ...clicks }, { sessions, expectedUser });
    });
  }

  /** Reads the sessions of a browser, with how their users stand to an application. */
  function sessionsOf({ sessions, signal }: Pick<BrowserStep, "sessions" | "signal">, client: SessionClient) {
    return readSessions(sessions, client, { now: clock(), signal });
  }

  async function shownNext(
    request: AuthorizationRequest,
    step: BrowserStep,
    state: Pick<StepState, "sessions" | "expectedUser">,
  ): Promise<Response> {
    const next = nextStep(request, { ...clicksOf(step), ...state, now: clock() });
    switch (next.is) {
      case "password":
        return askPassword(request, step, { loginHint: request.loginHint || (next.session?.username ?? "") });
      case "factor":
        return askFurther(request, step, next.session);
      case "accounts":
        return accountsForm(formOf(request, step, ""), next.sessions);
      case "consent":
        return askConsent(request, step, next.session);
      case "confirmation":
        return confirm(request, step, next.session);
      case "response":
        return respond(request, step, next.session);
    }
  }

  /** Asks a user who is signed in for a factor; for the password where that cannot be. */
  async function askFurther(request: AuthorizationRequest, step: BrowserStep, session: ClientSession) {
    const pending = await signIns.pending.beginAgain(session, step);
    return pending
      ? askFactor(request, step, { pending })
      : askPassword(request, step, { loginHint: request.loginHint || session.username });
  }

  function confirm(request: AuthorizationRequest, step: BrowserStep, { sessionId, username }: ClientSession): Response {
    const form = formOf(request, step, sessionId);
    return request.device ? deviceConfirmation(form, request.device, username) : confirmationForm(form, username);
  }

  async function askConsent(request: AuthorizationRequest, step: BrowserStep, session: ClientSession) {
    const { owner, organization } = await namesOf(request, session, step.signal);
    const sentences = scopeSentences(askedScopes(request), organization, step.language);
    return consentForm(formOf(request, step, session.sessionId), { organization: owner, sentences, session });
  }

  async function respond(request: AuthorizationRequest, step: BrowserStep, session: SessionOfUser) {
    if (isOwnClient(request.client)) return redirect(request.redirectUri, step);
    return authorizationResponse(request, await issue(request, session), contextOf(step));
  }

  async function withErrors(
    proven: ProvenRequest,
    step: BrowserStep,
    work: () => Promise<Response>,
  ): Promise<Response> {
    try {
      return await work();
    } catch (error) {
      const refusal = oauthErrorOf(error);
      noteFailure(step.values, refusal.code, error);
      if (proven.device && refusal.code === "access_denied") await denyDevice(deps.sql, proven.device, clock());
      return errorResponse(proven, refusal, contextOf(step));
    }
  }

  function askPassword(
    proven: ProvenRequest,
    step: BrowserStep,
    state: Partial<PasswordState> & { loginHint?: string },
  ) {
    const { loginName = state.loginHint ?? "", problems = [], isChange = false, status = 200 } = state;
    const passkey = signIns.passkeys.isPossible ? signIns.passkeys.start(formSeconds) : undefined;
    return passwordForm(formOf(proven, step, ""), { status, loginName, problems, isChange, passkey });
  }

  /** Asks for a factor. */
  function askFactor(proven: ProvenRequest, step: BrowserStep, state: FactorState) {
    return factorForm(formOf(proven, step, ""), state);
  }

  function formOf(proven: ProvenRequest, step: BrowserStep, sessionId: string): Form {
    const { query, browser, language, cookies } = step;
    const request = sealRequest(secrets.keyring, query, clock());
    const isSignedIn = sessionId !== "" && step.isSignedIn;
    const token = formToken(secrets.keyring, { browser, request, sessionId, isSignedIn });
    return { proven, language, request, token, cookies: [...cookies, jar.set("browser", browser)] };
  }

  /** The user of the ID token that hints at one; a token that is not ours is refused, one that expired is not. */
  async function expectedUserOf({ idTokenHint, client }: AuthorizationRequest): Promise<string | undefined> {
    if (idTokenHint === undefined) return undefined;
    const claims = await claimsOfOwn(keys, idTokenHint, { issuer: issuer(), type: "JWT", at: new Date(0) });
    if (!claims?.sub || claims.aud !== client.clientId)
      throw new OauthError("invalid_request", "id_token_hint is no ID token of this application");
    return claims.sub;
  }

  function contextOf({ language, cookies, byForm }: BrowserStep) {
    return { issuer: issuer(), language, cookies, byForm };
  }
}

/** Whether a user who has just signed in has a question to answer before the response. */
const isQuestioned = ({ client, device, prompts }: AuthorizationRequest, { owner }: SessionOfUser): boolean =>
  device !== undefined || isForeign(client, owner) || prompts.includes("consent");

/** The application and the organization of a request. */
export const targetOf = ({ client, organizationId }: AuthorizationRequest): SessionClient => ({
  appId: client.appId,
  projectId: client.projectId,
  organizationId,
});

const clicksOf = ({ chosen, isConfirmed, isAllowed, isSignedIn }: BrowserStep): Clicks => ({
  chosen,
  isConfirmed,
  isAllowed,
  isSignedIn,
});

/** The step that a request of a browser is. */
export function stepOf(jar: CookieJar, http: HttpRequest, of: Pick<BrowserStep, "parameters" | "query">): BrowserStep {
  const { cookie, "accept-language": accepted } = http.headers;
  const language = languageIn(of.parameters, accepted);
  // Mails that a page leads to are in its language.
  http.values.set(keys.language, language);
  return {
    ...of,
    values: http.values,
    language,
    byForm: http.method === "POST",
    browser: jar.read(cookie, "browser") ?? newToken("ob"),
    sessions: jar.readSessions(cookie),
    known: jar.readKnown(cookie),
    cookies: [],
    chosen: undefined,
    isConfirmed: false,
    isAllowed: false,
    isSignedIn: false,
    signal: http.signal,
  };
}

/**
 * Runs a page, again when it lost a race, as the guards run a call again; an error that has nowhere else to go is shown on a page of
 * its own.
 */
export async function shown(
  { values, path }: Pick<HttpRequest, "values" | "path">,
  texts: ErrorTexts,
  page: () => Promise<Response>,
): Promise<Response> {
  try {
    return await retry(page, { signal: neverAborted });
  } catch (error) {
    const shownError = pageErrorOf(error);
    noteFailure(values, shownError.problem, error);
    return errorPage(shownError, { path }, texts);
  }
}

/** The error that a page shows in place of another one. */
function pageErrorOf(error: unknown): PageError {
  if (error instanceof PageError) return error;
  return error instanceof OauthError
    ? new PageError("request_malformed", { problem: error.description })
    : new PageError("busy", {}, { status: 503 });
}

// A page whose browser is gone ends by itself, with another error.
const neverAborted = new AbortController().signal;
