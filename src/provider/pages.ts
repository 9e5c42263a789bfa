import type { HttpRequest, Response } from "@postern/gateway";
import { reasonOf } from "../errors.ts";
import type { Language } from "../messages/language.ts";
import { newToken } from "../security/token.ts";
import {
  type AuthorizationRequest,
  authorizationRequest,
  languageIn,
  type ProvenRequest,
} from "./authorization_request.ts";
import { browserSessionRead } from "./browser_session.ts";
import { type CookieJar, cookieJar } from "./cookies.ts";
import { type BrowserSession, nextStep } from "./decision.ts";
import { failure } from "./endpoint.ts";
import type { ProviderParts } from "./endpoints.ts";
import { issuing } from "./issue.ts";
import { claimsOfOwn } from "./jwt.ts";
import { OauthError } from "./oauth_error.ts";
import { errorPage, PageError } from "./page_error.ts";
import type { Parameters } from "./parameters.ts";
import { requestProof } from "./prove.ts";
import { authorizationResponse, errorResponse } from "./response.ts";
import { formToken, sealRequest } from "./sealed_request.ts";
import {
  confirmationForm,
  type FactorState,
  type Form,
  factorForm,
  type PasswordState,
  passwordForm,
} from "./sign_in_form.ts";
import type { TokenMaker } from "./tokens.ts";

/** A step of a sign-in in a browser: the request, its parameters, the cookies that came, and those that are to be set. */
export type BrowserStep = {
  readonly parameters: Parameters;
  /** The query of the authorization request, as it was sent. */
  readonly query: string;
  readonly language: Language;
  /** The value of the cookie of this browser, which its forms are bound to. */
  readonly browser: string;
  readonly session: string | undefined;
  readonly cookies: string[];
  readonly isConfirmed: boolean;
  readonly signal: AbortSignal;
};

/** The steps that every page of a sign-in is made of. */
export type Pages = ReturnType<typeof signInPages>;

/** Makes the steps of a sign-in, which authorize begins and the forms go on with. */
export function signInPages(parts: ProviderParts & { readonly maker: TokenMaker }) {
  const { deps, settings, maker, issuer, keys, onError } = parts;
  const { clock, secrets } = deps;
  const jar = cookieJar(issuer);
  const prove = requestProof(deps.sql);
  const sessionOf = browserSessionRead(deps.sql);
  const issue = issuing({ deps, settings, maker });

  return {
    jar,
    prove: (parameters: Parameters) => prove(parameters, clock()),

    /** Goes on with a request: shows a page, or sends the browser back. */
    async proceed(proven: ProvenRequest, step: BrowserStep): Promise<Response> {
      return withErrors(proven, step, async () => {
        const request = authorizationRequest(proven, step.parameters, issuer());
        const [session, expectedUser] = await Promise.all([
          sessionOf(step.session, clock(), step.signal),
          expectedUserOf(request),
        ]);
        const next = nextStep(request, { session, expectedUser, isConfirmed: step.isConfirmed, now: clock() });
        if (next.is === "password") return askPassword(proven, step, request);
        if (next.is === "confirmation")
          return confirmationForm(formOf(proven, step, next.session.sessionId), next.session.username);
        return respond(request, step, next.session);
      });
    },

    /** Sends the browser back after a right password, unless another user was expected. */
    async signedIn(proven: ProvenRequest, step: BrowserStep, session: Pick<BrowserSession, "sessionId" | "userId">) {
      return withErrors(proven, step, async () => {
        const request = authorizationRequest(proven, step.parameters, issuer());
        const expectedUser = await expectedUserOf(request);
        if (expectedUser !== undefined && expectedUser !== session.userId)
          throw new OauthError("login_required", "another user signed in than id_token_hint names");
        return respond(request, step, session);
      });
    },

    askPassword,

    /** Asks for the code of a factor. */
    askFactor: (proven: ProvenRequest, step: BrowserStep, state: FactorState) =>
      factorForm(formOf(proven, step, ""), state),

    /** Sends the browser back without a sign-in. */
    cancelled: (proven: ProvenRequest, step: BrowserStep) =>
      errorResponse(proven, new OauthError("access_denied", "the user cancelled"), contextOf(step)),

    sessionOf: (step: BrowserStep) => sessionOf(step.session, clock(), step.signal),
  };

  async function respond(request: AuthorizationRequest, step: BrowserStep, session: { readonly sessionId: string }) {
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
      const refusal = error instanceof OauthError ? error : failure(error, onError);
      return errorResponse(proven, refusal, contextOf(step));
    }
  }

  function askPassword(
    proven: ProvenRequest,
    step: BrowserStep,
    state: Partial<PasswordState> & { loginHint?: string },
  ) {
    const { loginName = state.loginHint ?? "", problems = [], isChange = false, status = 200 } = state;
    return passwordForm(formOf(proven, step, ""), { status, loginName, problems, isChange });
  }

  function formOf(proven: ProvenRequest, { query, browser, language, cookies }: BrowserStep, sessionId: string): Form {
    const request = sealRequest(secrets.keyring, query, clock());
    const token = formToken(secrets.keyring, { browser, request, sessionId });
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

  function contextOf({ language, cookies }: BrowserStep) {
    return { issuer: issuer(), language, cookies };
  }
}

/** The step that a request of a browser is. */
export function stepOf(jar: CookieJar, http: HttpRequest, of: Pick<BrowserStep, "parameters" | "query">): BrowserStep {
  const { cookie, "accept-language": accepted } = http.headers;
  return {
    ...of,
    language: languageIn(of.parameters, accepted),
    browser: jar.read(cookie, "browser") ?? newToken("ob"),
    session: jar.read(cookie, "session"),
    cookies: [],
    isConfirmed: false,
    signal: http.signal,
  };
}

/** Runs a page; an error that has nowhere else to go is shown on a page of its own. */
export async function shown(
  language: Language,
  parts: ProviderParts,
  page: () => Promise<Response>,
): Promise<Response> {
  try {
    return await page();
  } catch (error) {
    if (error instanceof PageError) return errorPage(error, language);
    if (error instanceof OauthError)
      return errorPage(new PageError("request_malformed", { problem: error.description }), language);
    const isOurs = reasonOf(error) === undefined || reasonOf(error) === "INTERNAL";
    if (isOurs) parts.onError(error);
    return errorPage(new PageError("busy", {}, 503), language);
  }
}
