import type { HttpRequest } from "@postern/gateway";
import type { Call } from "../../deps.ts";
import type { Language } from "../../messages/language.ts";
import { newToken } from "../../security/token.ts";
import type { CookieJar } from "../http/cookies.ts";
import type { Parameters } from "../http/parameters.ts";
import { languageFor } from "../pages/language.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { callOf } from "../request/endpoint.ts";
import type { SessionClient } from "./browser_session.ts";
import type { Clicks } from "./decision.ts";

/** A step of a sign-in in a browser: the request, its parameters, the cookies received, and those to set. */
export type BrowserStep = Call &
  Clicks & {
    readonly parameters: Parameters;
    /** The query of the authorization request, as sent. */
    readonly query: string;
    readonly language: Language;
    /** Whether the request submits one of our forms. */
    readonly byForm: boolean;
    /** The value of this browser's cookie, which its forms are bound to. */
    readonly browser: string;
    /** The values of this browser's sessions, the current one first. */
    readonly sessions: readonly string[];
    /** The tokens by which this browser is known to users. */
    readonly known: readonly string[];
    readonly cookies: string[];
  };

export function stepOf(jar: CookieJar, http: HttpRequest, of: Pick<BrowserStep, "parameters" | "query">): BrowserStep {
  const { cookie } = http.headers;
  return {
    ...of,
    ...callOf(http),
    language: languageFor(http, of.parameters.get("ui_locales")),
    byForm: http.method === "POST",
    browser: browserOf(jar, http),
    sessions: jar.readSessions(cookie),
    known: jar.readKnown(cookie),
    cookies: [],
    chosen: undefined,
    isConfirmed: false,
    isAllowed: false,
    isSignedIn: false,
  };
}

/** The value of a browser's cookie, or a new one. */
export const browserOf = (jar: CookieJar, { headers: { cookie } }: HttpRequest): string =>
  jar.read(cookie, "browser") ?? newToken("ob");

export const targetOf = ({ client, organizationId }: AuthorizationRequest): SessionClient => ({
  appId: client.appId,
  projectId: client.projectId,
  organizationId,
});
