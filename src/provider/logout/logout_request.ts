import type { Deps } from "../../deps.ts";
import { type Parameters, shown } from "../http/parameters.ts";
import { withQuery } from "../http/web_uri.ts";
import type { Brand } from "../pages/brand.ts";
import { brandsRead } from "../pages/brand_read.ts";
import { PageError } from "../pages/page_error.ts";
import { type BrandedClient, brandedClientRead } from "../request/branded_client.ts";
import type { Client } from "../request/client.ts";
import { blockingProblem } from "../request/redirect_uri.ts";
import { claimsOfOwn } from "../tokens/jwt.ts";
import type { SigningKeys } from "../tokens/signing_keys.ts";

/** What the ID token hint of a sign-out names: a client, a user and a session. */
export type LogoutHint = Readonly<Record<"clientId" | "userId" | "sessionId", string>>;

/** A sign-out request (OpenID Connect RP-Initiated Logout 1.0, 2). */
export type LogoutRequest = {
  /** The hint, if it is an ID token issued by us, expired or not. */
  readonly hint: LogoutHint | undefined;
  /** The requesting application, if it is active. */
  readonly application: Client | undefined;
  /** Whose the pages of the sign-out are. */
  readonly brand: Brand;
  /** Where the browser goes afterwards, with the state; undefined without a hint, because only the hint proves who asks. */
  readonly location: string | undefined;
};

type Parts = { readonly deps: Deps; readonly keys: SigningKeys; readonly issuer: () => string };

const longestId = 200;
const longestState = 2_000;

/** Makes the parser of sign-out requests; fails for requests that no application may send. */
export function logoutRequests({ deps, keys, issuer }: Parts) {
  const { sql, clock } = deps;
  const find = brandedClientRead(sql);
  const brands = brandsRead(sql);

  return async (parameters: Parameters): Promise<LogoutRequest> => {
    refuseMalformed(parameters);
    const hint = await hintOf(parameters.get("id_token_hint"));
    const named = parameters.get("client_id");
    if (hint && named !== undefined && named !== hint.clientId) throw new PageError("hint_of_other_client");
    const found = await clientOf(hint?.clientId ?? named);
    const client = found?.client;
    if (named !== undefined && !client) throw new PageError("client_unknown");
    const uri = parameters.get("post_logout_redirect_uri");
    if (client && uri !== undefined) refuseUnlisted(client, uri);
    const isProven = hint && client && uri !== undefined;
    const brand = found?.brand ?? (await brands.ofInstance());
    return {
      hint,
      application: client,
      brand,
      location: isProven ? withState(uri, parameters.get("state")) : undefined,
    };
  };

  async function clientOf(clientId: string | undefined): Promise<BrandedClient | undefined> {
    if (clientId === undefined || clientId.length > longestId) return undefined;
    const found = await find({ clientId, organizationId: undefined, now: clock() });
    return found?.client.active ? found : undefined;
  }

  /** The claims of an ID token issued by us, however long ago it expired. */
  async function hintOf(token: string | undefined): Promise<LogoutHint | undefined> {
    if (token === undefined) return undefined;
    const claims = await claimsOfOwn(keys, token, { issuer: issuer(), type: "JWT", at: new Date(0) });
    const { aud: clientId, sub: userId, sid: sessionId } = claims ?? {};
    if (typeof clientId !== "string" || userId === undefined || typeof sessionId !== "string") return undefined;
    return { clientId, userId, sessionId };
  }
}

function refuseMalformed(parameters: Parameters): void {
  const [twice] = parameters.repeated;
  if (twice !== undefined) throw new PageError("request_malformed", { problem: `${shown(twice)} is there twice` });
  if ((parameters.get("state")?.length ?? 0) > longestState)
    throw new PageError("request_malformed", { problem: `state is longer than ${longestState} characters` });
}

function refuseUnlisted({ oidc }: Client, uri: string): void {
  if (!oidc.postLogoutRedirectUris.includes(uri)) throw new PageError("logout_uri_unknown");
  const problem = blockingProblem(oidc, uri, "postLogoutRedirectUris");
  if (problem) throw new PageError(problem, { uris: uri });
}

const withState = (uri: string, state: string | undefined): string =>
  state === undefined ? uri : withQuery(uri, new URLSearchParams({ state }));
