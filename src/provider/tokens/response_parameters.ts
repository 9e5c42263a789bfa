import type { Deps } from "../../deps.ts";
import type { Origin } from "../../events/log.ts";
import { foreignKey } from "../../postgres/failure.ts";
import { newToken } from "../../security/token.ts";
import { OauthError } from "../http/oauth_error.ts";
import { later, type ProviderSettings } from "../http/settings.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { isConsole } from "../request/console_client.ts";
import { isForeign } from "../request/own_client.ts";
import { allowedScopes, resourceKeys } from "../request/resource.ts";
import { skewOf } from "./claims.ts";
import { consoleCodes } from "./console_sign_on.ts";
import { declaredRead } from "./declared_claims.ts";
import { signOnRead } from "./grant_read.ts";
import { lifetimesOf } from "./lifetimes.ts";
import { type NewSignOn, type Permitted, signOnWrite } from "./sign_on.ts";
import { codeKeyOf } from "./token_key.ts";
import { newAccessToken, newIdToken, type TokenMaker, writeAccessToken } from "./tokens.ts";

type Parts = { readonly deps: Deps; readonly settings: ProviderSettings; readonly maker: TokenMaker };

export type ResponseParameters = Readonly<Record<string, string>>;

/** A browser session and its user's organization. */
export type SessionOfUser = { readonly sessionId: string; readonly owner: string };

/** Makes the response to a request of a signed-in user: a code, or tokens. */
export function issuing(parts: Parts) {
  const { deps, settings } = parts;
  const write = writingOf(parts);
  const tokens = tokensOf(parts, write);
  const consoleCode = consoleCodes(parts);

  return async (
    request: AuthorizationRequest,
    session: SessionOfUser,
    origin: Origin | undefined,
  ): Promise<ResponseParameters> => {
    const { sessionId, owner } = session;
    if (isConsole(request.client)) {
      const { challenge = "", prompts } = request;
      const isSilent = prompts.includes("none");
      return { code: (await consoleCode({ sessionId, challenge, origin, isSilent })) ?? raise(ended()) };
    }
    const [signOnId, now] = [deps.ids(), deps.clock()];
    const writing = { signOnId, now, origin, sessionId, isConsentNeeded: isForeign(request.client, owner) };
    if (request.device) {
      const { deviceId, expirationDate } = request.device;
      await write(request, { ...writing, expirationDate, deviceId });
      return {};
    }
    if (request.responseType !== "code") return tokens(request, writing);
    const code = newToken("oc");
    const { client, redirectUri, challenge } = request;
    const jkt = codeKeyOf(client, request.jkt);
    const codeEnd = later(now, settings.codeLifetimeSeconds);
    // The expiry of the access token that the code yields, so that exchanging it need not change the sign-in.
    const expirationDate = later(codeEnd, lifetimesOf(client, settings).access + skewOf(client));
    const stored = { code, redirectUri, challenge, jkt, expirationDate: codeEnd };
    await write(request, { ...writing, expirationDate, code: stored });
    return { code };
  };
}

type Writing = Pick<NewSignOn, "signOnId" | "now" | "origin" | "sessionId" | "isConsentNeeded">;

type Write = (
  request: AuthorizationRequest,
  more: Omit<
    NewSignOn,
    "appId" | "projectId" | "scope" | "organizationId" | "forApi" | "resources" | "allowed" | "nonce" | "idleDate"
  >,
) => Promise<void>;

/** Makes the write of a sign-in; fails if the user may not use the application. */
function writingOf({ deps, settings }: Parts): Write {
  const writeSignOn = signOnWrite(deps.sql);
  return async (request, more) => {
    const { client, scope, organizationId, forApi, nonce } = request;
    const { appId, projectId } = client;
    const named = request.resources.length > 0 ? { resources: resourceKeys(request.resources) } : {};
    const target = { organizationId, forApi, ...named, allowed: allowedScopes(request) };
    const idleDate = later(more.now, settings.browserSessionIdleSeconds);
    const signOn = { ...more, appId, projectId, scope, ...target, nonce, idleDate };
    refuseOthers(await writeSignOn(signOn).catch(whenEnded));
  };
}

/** Makes the tokens of a response without a code. */
function tokensOf({ deps: { sql }, settings, maker }: Parts, write: Write) {
  const [readSignOn, withDeclared] = [signOnRead(sql), declaredRead(sql)];
  return async (request: AuthorizationRequest, writing: Writing): Promise<ResponseParameters> => {
    const { client, responseType } = request;
    const { signOnId, now } = writing;
    const expirationDate = later(now, lifetimesOf(client, settings).access + skewOf(client));
    await write(request, { ...writing, expirationDate });
    const found = await readSignOn(signOnId, now);
    if (!found) throw ended();
    const signOn = await withDeclared(client, found);
    const of = { client, signOn, now };
    if (responseType === "id_token") return { id_token: await newIdToken(maker, of, { isAlone: true }) };
    const access = await newAccessToken(maker, of, signOn.scope);
    if (!(await writeAccessToken(sql, signOnId, access).catch(whenEnded))) throw ended();
    return {
      access_token: access.text,
      token_type: "Bearer",
      expires_in: String(access.seconds),
      scope: access.scope,
      id_token: await newIdToken(maker, of, { accessToken: access.text }),
    };
  };
}

function raise(error: Error): never {
  throw error;
}

const ended = () => new OauthError("login_required", "the session of the browser has ended");

const notAllowed = () => new OauthError("access_denied", "the user has not allowed what the application asks for");

/** While a sign-in is being written, its session may end and its consent be withdrawn. */
function whenEnded(error: unknown): undefined {
  const key = foreignKey(error);
  if (key === "sign_ons_consent") throw notAllowed();
  if (key === undefined) throw error;
}

function refuseOthers(found: Permitted | undefined): void {
  if (!found) throw ended();
  if (!found.permitted) throw new OauthError("access_denied", "the user may not use this application");
  if (!found.reachable)
    throw new OauthError("access_denied", "the user has no part in the organization that scope names");
  if (!found.allowed) throw notAllowed();
  if (found.isWaiting === false) throw new OauthError("expired_token", "the device waits no more");
}
