import { OidcResponseType } from "../../../gen/postern/v1/application_pb.ts";
import { organizationScope } from "../../services/callers/scopes.ts";
import { OauthError } from "../http/oauth_error.ts";
import { type Parameters, parametersIn } from "../http/parameters.ts";
import { plainBrand } from "../pages/brand.ts";
import {
  type AuthorizationRequest,
  authorizationRequest,
  type ResponseType,
  responseModeIn,
} from "../request/authorization_request.ts";
import type { Client } from "../request/client.ts";
import { blockingProblem } from "../request/redirect_uri.ts";

/** An authorization request as a well-made application would send it, or the reason why it cannot. */
export type PlannedRequest = AuthorizationRequest | "no issuer" | "no redirect URI" | "invalid";

/** The scopes and the organization that the application would ask for. */
export type Wanted = { readonly scopes: readonly string[]; readonly organizationId: string };

// The first one that the application is registered for.
const responseTypes: readonly (readonly [ResponseType, OidcResponseType])[] = [
  ["code", OidcResponseType.CODE],
  ["id_token token", OidcResponseType.ID_TOKEN_TOKEN],
  ["id_token", OidcResponseType.ID_TOKEN],
];

/** The parameters that state the wishes of the application; those that only protect the request have any well-formed value. */
export function plannedParameters({ scopes, organizationId }: Wanted, oidc?: Client["oidc"]): Parameters {
  const [type = "code"] = responseTypes.find(([, registered]) => oidc?.responseTypes.includes(registered)) ?? [];
  const named = organizationId === "" ? [] : [organizationScope + organizationId];
  const protection =
    type === "code" ? { code_challenge: "A".repeat(43), code_challenge_method: "S256" } : { nonce: "any" };
  const scope = [...scopes, ...named].join(" ");
  return parametersIn(`${new URLSearchParams({ response_type: type, scope, ...protection })}`);
}

/** Makes the request that an application would send, by the rules for requests. */
export function plannedRequest(client: Client, wanted: Wanted, issuer: string | undefined): PlannedRequest {
  if (issuer === undefined) return "no issuer";
  const { oidc } = client;
  // A document says at each sign-in where users may be sent.
  const registered = client.bringsDocument ? [client.clientId] : oidc.redirectUris;
  const redirectUri = registered.find((uri) => blockingProblem(oidc, uri) === undefined);
  if (redirectUri === undefined) return "no redirect URI";
  const parameters = plannedParameters(wanted, oidc);
  const proven = { client, redirectUri, responseMode: responseModeIn(parameters), state: undefined, brand: plainBrand };
  try {
    return authorizationRequest(proven, parameters, issuer);
  } catch (error) {
    if (error instanceof OauthError) return "invalid";
    throw error;
  }
}
