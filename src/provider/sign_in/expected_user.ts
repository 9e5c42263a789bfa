import { OauthError } from "../http/oauth_error.ts";
import type { ProviderParts } from "../parts.ts";
import type { AuthorizationRequest } from "../request/authorization_request.ts";
import { claimsOfOwn } from "../tokens/jwt.ts";

/** The user of a request's ID token hint. A token that we did not issue is refused; an expired one is not. */
export async function expectedUserOf(
  { keys, issuer }: Pick<ProviderParts, "keys" | "issuer">,
  { idTokenHint, client }: AuthorizationRequest,
): Promise<string | undefined> {
  if (idTokenHint === undefined) return undefined;
  const claims = await claimsOfOwn(keys, idTokenHint, { issuer: issuer(), type: "JWT", at: new Date(0) });
  if (!claims?.sub || claims.aud !== client.clientId)
    throw new OauthError("invalid_request", "id_token_hint is no ID token of this application");
  return claims.sub;
}
