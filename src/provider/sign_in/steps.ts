import type { HttpRequest, Response } from "@postern/gateway";
import { callOrigin, keys } from "../../deps.ts";
import { workFor } from "../../security/current_share.ts";
import { isMultiFactor } from "../../services/callers/authentication_class.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { notices } from "../../services/verification/notice.ts";
import { cookieJar } from "../http/cookies.ts";
import { OauthError } from "../http/oauth_error.ts";
import type { Parameters } from "../http/parameters.ts";
import { redirect } from "../http/redirect.ts";
import { noteBrand } from "../pages/look.ts";
import { noteClient, noteFailure } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import {
  type AuthorizationRequest,
  authorizationRequest,
  type ProvenRequest,
} from "../request/authorization_request.ts";
import { denyDevice } from "../request/device_proof.ts";
import { isOnLoopback } from "../request/document_client.ts";
import { oauthErrorOf } from "../request/endpoint.ts";
import { isForeign, isOwnClient } from "../request/own_client.ts";
import { pushedRequests } from "../request/pushed_request.ts";
import { requestProof } from "../request/request_proof.ts";
import { issuing, type SessionOfUser } from "../tokens/response_parameters.ts";
import type { TokenMaker } from "../tokens/tokens.ts";
import { type BegunBrowserSession, browserSessionsRead, type SessionClient } from "./browser_session.ts";
import { type BrowserStep, targetOf } from "./browser_step.ts";
import { nextStep, type StepState } from "./decision.ts";
import { deviceCancelled } from "./device_form.ts";
import { expectedUserOf } from "./expected_user.ts";
import { knownBrowsers } from "./known_browser.ts";
import { authorizationResponse, errorResponse, isUnseen, type ResponseContext } from "./response.ts";
import { signInPages } from "./show.ts";

type Parts = ProviderParts & { readonly maker: TokenMaker; readonly signIns: SignIns };

type BegunSession = Omit<BegunBrowserSession, "expirationDate" | "enrolmentOnly">;

/** The steps that all sign-ins share. */
export type SignInSteps = ReturnType<typeof signInSteps>;

/** Makes the steps of a sign-in, which begins at authorize and continues with the forms. */
export function signInSteps(parts: Parts) {
  const { deps, settings, issuer } = parts;
  const { sql, clock } = deps;
  const { show, ...pages } = signInPages(parts);
  const [prove, readSessions] = [requestProof(parts), browserSessionsRead(sql)];
  const [remember, notice] = [knownBrowsers(parts), notices(deps, settings)];
  const orError = errorsSentBack(parts);
  const respond = responding(parts);
  const jar = cookieJar(issuer);
  const cancelled = cancelling(parts);

  return { jar, open: pushedRequests(deps), prove: proveNoted, sessionsOf, proceed, signedIn, cancelled, ...pages };

  /** Proves client and redirect URI of a request, without which nothing is sent anywhere. */
  async function proveNoted(parameters: Parameters, { values }: Pick<HttpRequest, "values">): Promise<ProvenRequest> {
    const proven = await prove(parameters, clock(), values.get(keys.network));
    noteClient(values, proven.client);
    noteBrand(values, proven.brand);
    return proven;
  }

  /** Reads a browser's sessions, and what their users may do at an application. */
  function sessionsOf({ sessions, signal }: Pick<BrowserStep, "sessions" | "signal">, client: SessionClient) {
    return readSessions(sessions, client, { now: clock(), signal });
  }

  /** Continues a request: shows a page, or sends the browser back. */
  function proceed(proven: ProvenRequest, step: BrowserStep): Promise<Response> {
    return orError(proven, step, async () => {
      const request = authorizationRequest(proven, step.parameters, issuer());
      const [sessions, expectedUser] = await Promise.all([
        sessionsOf(step, targetOf(request)),
        expectedUserOf(parts, request),
      ]);
      return next(request, step, { sessions, expectedUser });
    });
  }

  /** Continues after a full sign-in, which makes the browser known unless another user was expected. Devices still need a confirmation. */
  async function signedIn(proven: ProvenRequest, before: BrowserStep, session: BegunSession): Promise<Response> {
    const { userId, sessionId, cookie: value } = session;
    const { cookie } = await remember(before.known, { userId, sessionId, ...notice("new_device", before) });
    const step = { ...before, cookies: [...before.cookies, cookie] };
    return orError(proven, step, async () => {
      const request = authorizationRequest(proven, step.parameters, issuer());
      const expectedUser = await expectedUserOf(parts, request);
      refuseUnfit(request, session, expectedUser);
      if (!isQuestioned(request, session)) return respond(request, step, session);
      const clicks = { chosen: sessionId, isConfirmed: !isAskedAnyway(proven), isSignedIn: true };
      const sessions = await sessionsOf({ ...step, sessions: [value] }, targetOf(request));
      return next(request, { ...step, ...clicks }, { sessions, expectedUser });
    });
  }

  async function next(request: AuthorizationRequest, step: BrowserStep, state: SessionState): Promise<Response> {
    const decided = nextStep(request, { ...step, ...state, now: clock() });
    return decided.is === "response" ? respond(request, step, decided.session) : show(request, step, decided);
  }
}

/** Makes the response to a request with a session, issuing what it asks for. */
function responding({ deps, settings, maker, issuer }: Parts) {
  const issue = issuing({ deps, settings, maker });
  return async (request: AuthorizationRequest, step: BrowserStep, session: SessionOfUser): Promise<Response> => {
    if (isOwnClient(request.client)) return redirect(request.redirectUri, step);
    const whom = { shares: [[session.owner, session.sessionId]] } as const;
    const parameters = await workFor(whom, () => issue(request, session, callOrigin(step)));
    return authorizationResponse(request, parameters, contextOf(issuer, request, step));
  };
}

/** Makes the response for a user who cancels: the browser is sent back without a sign-in, and a device is denied. */
function cancelling({ deps: { sql, clock }, issuer }: Parts) {
  return async (proven: ProvenRequest, step: BrowserStep): Promise<Response> => {
    const context = contextOf(issuer, proven, step);
    if (!proven.device) return errorResponse(proven, new OauthError("access_denied", "the user cancelled"), context);
    await denyDevice(sql, proven.device, clock());
    return deviceCancelled(proven, context);
  };
}

type SessionState = Pick<StepState, "sessions" | "expectedUser">;

/**
 * Wraps work so that its errors send the browser back to the application, unless no page has named it yet; if a device's user is refused,
 * the device is denied.
 */
function errorsSentBack({ deps: { sql, clock }, issuer }: ProviderParts) {
  return async (proven: ProvenRequest, step: BrowserStep, work: () => Promise<Response>): Promise<Response> => {
    try {
      return await work();
    } catch (error) {
      // Shown on a page, also a failure of ours.
      if (isUnseen(proven) && !step.byForm) throw error;
      const refusal = oauthErrorOf(error);
      noteFailure(step.values, refusal.code, error);
      if (proven.device && refusal.code === "access_denied") await denyDevice(sql, proven.device, clock());
      return errorResponse(proven, refusal, contextOf(issuer, proven, step));
    }
  };
}

const contextOf = (
  issuer: () => string,
  { brand }: ProvenRequest,
  { language, cookies, byForm }: BrowserStep,
): ResponseContext => ({
  issuer: issuer(),
  brand,
  language,
  cookies,
  byForm,
});

/** Fails if a user who has just signed in is not the one that the request expects, or lacks the factor it requires. */
function refuseUnfit({ wantsFactor }: AuthorizationRequest, session: BegunSession, expectedUser: string | undefined) {
  if (expectedUser !== undefined && expectedUser !== session.userId)
    throw new OauthError("login_required", "another user signed in than id_token_hint names");
  if (wantsFactor && !isMultiFactor(session.methods))
    throw new OauthError("unmet_authentication_requirements", "the user has no second factor");
}

/** Whether the user is asked on a page of its own, regardless of earlier clicks. */
export const isAskedAnyway = ({ device, client }: ProvenRequest): boolean =>
  device !== undefined || isOnLoopback(client);

/** Whether a user who has just signed in still has a question to answer before the response. */
const isQuestioned = ({ client, device, prompts }: AuthorizationRequest, { owner }: SessionOfUser): boolean =>
  device !== undefined || isForeign(client, owner) || prompts.includes("consent");
