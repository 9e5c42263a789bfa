import { type Parameters, repeated, tooLong } from "../http/parameters.ts";
import { withQuery } from "../http/web_uri.ts";
import type { Brand } from "../pages/brand.ts";
import { brandsRead } from "../pages/brand_read.ts";
import { PageError } from "../pages/page_error.ts";
import type { ProviderParts } from "../parts.ts";
import { type BrandedClient, brandedClientRead } from "../request/branded_client.ts";
import type { Client } from "../request/client.ts";
import { consoleClient, consoleClientId, consoleIssuerOf, isConsole } from "../request/console_client.ts";
import { allowedDocuments, leavingClient } from "../request/document_client.ts";
import { isAdmitted } from "../request/document_id.ts";
import { blockingProblem } from "../request/redirect_uri.ts";
import { claimsOfOwn } from "../tokens/jwt.ts";

/** The client, user and session that the ID token hint of a sign-out names. */
export type LogoutHint = Readonly<Record<"clientId" | "userId" | "sessionId", string>>;

/** A sign-out request (OpenID Connect RP-Initiated Logout 1.0, 2). */
export type LogoutRequest = {
  /** The hint, if it is an ID token that we issued, expired or not. For the console, which has none, the user that it names. */
  readonly hint: LogoutHint | undefined;
  /** The requesting application, if it is active. */
  readonly application: Client | undefined;
  /** The branding of the sign-out pages. */
  readonly brand: Brand;
  /**
   * Where the browser goes afterwards, with the state; undefined without a hint, because only the hint proves who asks, unless it is to the
   * console, and of a client with a document if that cannot be read or the user allows the client nowhere.
   */
  readonly location: string | undefined;
};

type Parts = Pick<ProviderParts, "deps" | "keys" | "issuer" | "settings" | "readDocument">;

const longestId = 200;
const longestState = 2_000;

/** Makes the parser of sign-out requests; fails for requests that no application may send. */
export function logoutRequests(parts: Parts) {
  const { deps, keys, issuer, settings } = parts;
  const consoleIssuer = consoleIssuerOf(parts);
  const { sql, clock } = deps;
  const find = brandedClientRead(sql);
  const brands = brandsRead(sql);
  const documented = documentedClient(parts);

  return async (parameters: Parameters, network: string | undefined): Promise<LogoutRequest> => {
    refuseMalformed(parameters);
    const hint = await hintOf(parameters.get("id_token_hint"));
    const named = parameters.get("client_id");
    if (hint && named !== undefined && named !== hint.clientId) throw new PageError("hint_of_other_client");
    const found = await clientOf(hint?.clientId ?? named);
    const client = found?.client;
    if (named !== undefined && !client) throw new PageError("client_unknown");
    const brand = found?.brand ?? (await brands.ofInstance());
    return {
      hint: client && isConsole(client) ? userIn(parameters) : hint,
      application: client,
      brand,
      location: client && (await locationFor(client, parameters, { hint, network })),
    };
  };

  async function locationFor(client: Client, parameters: Parameters, { hint, network }: Asking) {
    const uri = parameters.get("post_logout_redirect_uri");
    if (uri === undefined) return undefined;
    const isProven = hint !== undefined || isConsole(client);
    const listing = client.bringsDocument ? hint && (await documented(hint, uri, network)) : client;
    if (!listing) return undefined;
    refuseUnlisted(listing, uri);
    return isProven ? withState(uri, parameters.get("state")) : undefined;
  }

  async function clientOf(clientId: string | undefined): Promise<BrandedClient | undefined> {
    if (clientId === undefined || clientId.length > longestId) return undefined;
    if (isAdmitted(settings, clientId)) return { client: leavingClient(clientId), brand: await brands.ofInstance() };
    const served = clientId === consoleClientId ? consoleIssuer() : undefined;
    if (served !== undefined) return { client: consoleClient(served), brand: await brands.ofInstance() };
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

/**
 * Makes the read of a hint's client with what its document says about a URI. Undefined if the document cannot be read, which keeps nobody
 * from signing out, or if the hint's user allows the client nowhere.
 */
function documentedClient({ deps, readDocument }: Pick<Parts, "deps" | "readDocument">) {
  const isAllowed = allowedDocuments(deps.sql);
  return async ({ clientId, userId }: LogoutHint, uri: string, network: string | undefined) => {
    if (!(await isAllowed(userId, clientId))) return undefined;
    return readDocument(clientId, network, async () => true).then(
      (document) => leavingClient(clientId, { document, uri }),
      () => undefined,
    );
  };
}

/** A hint that we issued, and the network that a sign-out comes from. */
type Asking = { readonly hint: LogoutHint | undefined; readonly network: string | undefined };

/** The user whose sign-out the console asks for. It proves nothing, so it names no session. */
function userIn(parameters: Parameters): LogoutHint | undefined {
  const userId = parameters.get("logout_hint");
  return userId === undefined ? undefined : { clientId: consoleClientId, userId, sessionId: "" };
}

function refuseMalformed(parameters: Parameters): void {
  const [twice] = parameters.repeated;
  if (twice !== undefined) throw repeated(twice);
  if ((parameters.get("state")?.length ?? 0) > longestState) throw tooLong("state", longestState);
}

function refuseUnlisted(client: Client, uri: string): void {
  const { oidc } = client;
  if (!oidc.postLogoutRedirectUris.includes(uri)) throw new PageError("logout_uri_unknown");
  if (isConsole(client)) return;
  const problem = blockingProblem(oidc, uri, "postLogoutRedirectUris");
  if (problem) throw new PageError(problem, { uris: uri });
}

const withState = (uri: string, state: string | undefined): string =>
  state === undefined ? uri : withQuery(uri, new URLSearchParams({ state }));
