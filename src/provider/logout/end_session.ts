import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { keys } from "../../deps.ts";
import type { Language } from "../../messages/language.ts";
import { newToken } from "../../security/token.ts";
import { type CookieJar, cookieJar } from "../http/cookies.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { languageFor } from "../pages/language.ts";
import { noteBrand } from "../pages/look.ts";
import { onward } from "../pages/onward.ts";
import { refuseForeign } from "../pages/own_address.ts";
import { asGet, refuseLong } from "../pages/page_query.ts";
import { noteClient } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { formExpired, queryOf } from "../request/begin_again.ts";
import type { Client } from "../request/client.ts";
import { isConsole } from "../request/console_client.ts";
import { allowedDocuments } from "../request/document_client.ts";
import { callOf } from "../request/endpoint.ts";
import { formToken, isFormToken, sealRequest } from "../request/sealed_request.ts";
import { logoutEnd, logoutForm } from "./logout_pages.ts";
import { type LogoutRequest, logoutRequests } from "./logout_request.ts";
import { endSessions, type FoundSessions, type OpenSession, sessionsToEnd } from "./logout_sessions.ts";

/** A sign-out in a browser: the request as sent, and the sessions that it ends. */
type LogoutStep = {
  readonly http: HttpRequest;
  readonly query: string;
  readonly logout: LogoutRequest;
  readonly language: Language;
  /** The values of the browser's sessions, the current one first. */
  readonly cookies: readonly string[];
  readonly sessions: FoundSessions;
};

/**
 * The routes of a sign-out requested by an application (OpenID Connect RP-Initiated Logout 1.0): the endpoint, by GET and POST, and its
 * form. The form is shown unless the hint belongs to the session of this browser, or the console asks for its own user.
 */
export function endSessionRoutes(parts: ProviderParts): readonly HttpRoute[] {
  const { requested, submitted } = signingOut(parts);
  return [
    {
      path: paths.endSession,
      methods: ["GET", "POST"],
      bodyMaxBytes: formMaxBytes,
      handle: (http) => (http.method === "POST" ? asGet(http, paths.endSession) : requested(http)),
    },
    {
      path: paths.signOut,
      methods: ["POST"],
      bodyMaxBytes: formMaxBytes,
      handle: submitted,
    },
  ];
}

/** The pages of a sign-out: requests by applications, and the form that asks the user. */
function signingOut(parts: ProviderParts) {
  const { deps, issuer } = parts;
  const { keyring } = deps.secrets;
  const jar = cookieJar(issuer);
  const stepOf = logoutSteps(parts, jar);
  const isAllowed = allowedDocuments(deps.sql);
  return { requested, submitted };

  async function requested(http: HttpRequest): Promise<Response> {
    refuseLong(http.query);
    const step = await stepOf(http, http.query);
    const { ofBrowser } = step.sessions;
    return ofBrowser && !isWanted(step, ofBrowser) ? asked(step, ofBrowser) : signedOut(step);
  }

  async function asked(
    { http, query, logout, language }: LogoutStep,
    { id, userId, qualifiedName: username }: OpenSession,
  ): Promise<Response> {
    const browser = jar.read(http.headers.cookie, "browser") ?? newToken("ob");
    const request = sealRequest(keyring, query, deps.clock());
    const token = formToken(keyring, { browser, request: purposed(request), sessionId: id });
    const here = endBeginning(query);
    const look = { language, brand: logout.brand, here, cookies: [jar.set("browser", browser)] };
    const application = (await mayBeNamed(logout, userId)) ? logout.application : undefined;
    return logoutForm({ ...look, logout: { ...logout, application }, username, request, token });
  }

  /** Whether a page names the application to users. Anybody can name any host in a link, so only users who know it, or go there, see it. */
  async function mayBeNamed({ application, location }: LogoutRequest, userId: string): Promise<boolean> {
    return !application?.bringsDocument || location !== undefined || isAllowed(userId, application.clientId);
  }

  async function submitted(http: HttpRequest): Promise<Response> {
    refuseForeign(http, issuer());
    const form = formIn(http.headers, http.body);
    const query = queryOf(keyring, form, { now: deps.clock(), beginning: endBeginning });
    const step = await stepOf(http, query);
    const { ofBrowser } = step.sessions;
    if (ofBrowser && !isOurs(http, form, ofBrowser)) throw formExpired(endBeginning(query));
    if (form.get("action") === "sign_out") return signedOut(step);
    return logoutEnd({ language: step.language, brand: step.logout.brand }, "still_signed_in");
  }

  /** Whether a form was shown in this browser and for this session; a form sent twice no longer finds its session. */
  function isOurs({ headers }: HttpRequest, form: Parameters, { id: sessionId }: OpenSession): boolean {
    const browser = jar.read(headers.cookie, "browser") ?? "";
    const of = { browser, request: purposed(form.get("request") ?? ""), sessionId };
    return isFormToken(keyring, of, form.get("token"));
  }

  async function signedOut({ http, logout, language, sessions, ...step }: LogoutStep): Promise<Response> {
    await endSessions(deps, sessions, callOf(http));
    const cookies = jar.setSessions(sessions.kept, step.cookies);
    const { location, application, brand } = logout;
    const look = { language, brand, cookies };
    if (location === undefined || !application || isUnseen(application, sessions)) return logoutEnd(look, "signed_out");
    return onward({ ...look, location, application: application.name, byForm: http.method === "POST" });
  }
}

/**
 * Whether the request itself shows that its user wants to sign out: it has the hint of the session, or comes from a page of this origin,
 * which browsers report and no other page can fake.
 */
function isWanted({ http, logout: { hint, application } }: LogoutStep, { id, userId }: OpenSession): boolean {
  if (hint?.sessionId === id) return true;
  const isOwnPage = http.headers["sec-fetch-site"] === "same-origin";
  return isOwnPage && application !== undefined && isConsole(application) && hint?.userId === userId;
}

/**
 * Whether anybody could be this client, and no user of it signs out here: a link that names its document and an ID token of its own leads
 * nobody elsewhere (RFC 9700, 4.11.2).
 */
const isUnseen = ({ bringsDocument }: Client, { ofBrowser }: FoundSessions): boolean =>
  bringsDocument === true && ofBrowser === undefined;

/** Makes the read of a sign-out: what is requested, and which sessions of the browser end. */
function logoutSteps(parts: ProviderParts, jar: CookieJar) {
  const read = logoutRequests(parts);
  return async (http: HttpRequest, query: string): Promise<LogoutStep> => {
    // Also for the page of an error, even if nothing else in the query can be parsed.
    const language = languageFor(http, uiLocalesIn(query));
    const logout = await read(parametersIn(query), http.values.get(keys.network));
    noteBrand(http.values, logout.brand);
    if (logout.hint) noteClient(http.values, logout.hint);
    const cookies = jar.readSessions(http.headers.cookie);
    const sessions = await sessionsToEnd(parts.deps.sql, { cookies, hint: logout.hint });
    return { http, query, language, logout, cookies, sessions };
  };
}

/** The path at which a sign-out can be restarted. */
const endBeginning = (query: string) => `${paths.endSession}?${query}`;

/** Binds tokens to this form: a token of the sign-in forms is invalid here. */
const purposed = (request: string) => `sign-out ${request}`;

const uiLocalesIn = (query: string): string => new URLSearchParams(query).get("ui_locales") ?? "";
