import type { Deps } from "../deps.ts";
import { foreignKey } from "../postgres/failure.ts";
import { newToken } from "../security/token.ts";
import type { AuthorizationRequest } from "./authorization_request.ts";
import { skewOf } from "./claims.ts";
import type { BrowserSession } from "./decision.ts";
import type { DeviceRequest } from "./device_request.ts";
import { signOnRead } from "./grant_read.ts";
import { OauthError } from "./oauth_error.ts";
import type { ResponseParameters } from "./response.ts";
import { later, type ProviderSettings } from "./settings.ts";
import { type Permitted, writeSignOn } from "./sign_on.ts";
import { newAccessToken, newIdToken, type TokenMaker, writeAccessToken } from "./tokens.ts";

type Parts = { readonly deps: Deps; readonly settings: ProviderSettings; readonly maker: TokenMaker };

type SessionId = Pick<BrowserSession, "sessionId">;

/** Makes the response to a request of a user who is signed in: a code, or tokens. */
export function issuing({ deps, settings, maker }: Parts) {
  const { sql, clock, ids } = deps;
  const readSignOn = signOnRead(sql);

  return async (request: AuthorizationRequest, session: SessionId): Promise<ResponseParameters> => {
    const [signOnId, now] = [ids(), clock()];
    if (request.device) return approve(request, request.device, { signOnId, now, ...session });
    if (request.responseType !== "code") return tokens(request, { signOnId, now, ...session });
    const code = newToken("oc");
    const { redirectUri, challenge } = request;
    const expirationDate = later(now, settings.codeLifetimeSeconds);
    await written(request, { signOnId, now, ...session, expirationDate, code: { code, redirectUri, challenge } });
    return { code };
  };

  async function approve(
    request: AuthorizationRequest,
    { deviceId, expirationDate }: DeviceRequest,
    writing: Writing,
  ): Promise<ResponseParameters> {
    await written(request, { ...writing, expirationDate, deviceId });
    return {};
  }

  type Writing = SessionId & { readonly signOnId: string; readonly now: Date };

  async function written(
    { client, scope, organizationId, forApi, nonce }: AuthorizationRequest,
    more: Omit<
      Parameters<typeof writeSignOn>[1],
      "appId" | "projectId" | "scope" | "organizationId" | "forApi" | "nonce" | "idleDate"
    >,
  ): Promise<void> {
    const { appId, projectId } = client;
    const idleDate = later(more.now, settings.browserSessionIdleSeconds);
    const signOn = { ...more, appId, projectId, scope, organizationId, forApi, nonce, idleDate };
    const found = await writeSignOn(sql, signOn).catch(whenEnded);
    refuseOthers(found);
  }

  async function tokens(
    request: AuthorizationRequest,
    { signOnId, now, sessionId }: Writing,
  ): Promise<ResponseParameters> {
    const { client, responseType } = request;
    const expirationDate = later(now, maker.seconds + skewOf(client));
    await written(request, { signOnId, now, sessionId, expirationDate });
    const signOn = await readSignOn(signOnId, now);
    if (!signOn) throw ended();
    const of = { client, signOn, now };
    if (responseType === "id_token") return { id_token: await newIdToken(maker, of, { isAlone: true }) };
    const access = await newAccessToken(maker, of, signOn.scope);
    if (!(await writeAccessToken(sql, signOnId, access).catch(whenEnded))) throw ended();
    return {
      access_token: access.text,
      token_type: "Bearer",
      expires_in: String(maker.seconds),
      scope: access.scope,
      id_token: await newIdToken(maker, of, { accessToken: access.text }),
    };
  }
}

const ended = () => new OauthError("login_required", "the session of the browser has ended");

/** The session that a sign-in refers to may end while it is written. */
function whenEnded(error: unknown): undefined {
  if (foreignKey(error) === undefined) throw error;
}

function refuseOthers(found: Permitted | undefined): void {
  if (!found) throw ended();
  if (!found.permitted) throw new OauthError("access_denied", "the user may not use this application");
  if (!found.reachable)
    throw new OauthError("access_denied", "the user has no part in the organization that scope names");
  if (found.isWaiting === false) throw new OauthError("expired_token", "the device waits no more");
}
