import { languages } from "../../messages/language.ts";
import { authenticationClasses } from "../../services/callers/authentication_class.ts";
import { allRolesScope, scopes } from "../../services/callers/scopes.ts";
import { paths } from "../http/paths.ts";
import { assertionAlgorithms } from "../request/assertion.ts";
import { prompts } from "../request/authorization_request.ts";
import type { DocumentSettings } from "../request/document_id.ts";
import { dpopAlgorithms } from "../request/dpop_proof.ts";
import { omittedClaim } from "./claims_size.ts";
import { grants } from "./grant_types.ts";
import { algorithms } from "./signing_keys.ts";

const claims = [
  ...["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "sid", "at_hash"],
  ...["name", "given_name", "family_name", "preferred_username", "locale", "updated_at"],
  ...["email", "email_verified", "phone_number", "phone_number_verified", "address"],
  ...["roles", allRolesScope, omittedClaim, "urn:postern:organization:id"],
];

const methodsWithProof = ["client_secret_basic", "client_secret_post", "private_key_jwt"];
const methods = [...methodsWithProof, "none"];

/** How clients authenticate, and prove possession of a key. */
const ofClients = {
  token_endpoint_auth_methods_supported: methods,
  token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  introspection_endpoint_auth_methods_supported: methodsWithProof,
  introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  revocation_endpoint_auth_methods_supported: methods,
  revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  dpop_signing_alg_values_supported: dpopAlgorithms,
};

/** Provider metadata by OpenID Connect Discovery 1.0 and RFC 8414, listing only what exists. */
export const metadata = (issuer: string, { clientDocumentHosts }: DocumentSettings) => ({
  issuer,
  authorization_endpoint: issuer + paths.authorize,
  pushed_authorization_request_endpoint: issuer + paths.pushedAuthorization,
  token_endpoint: issuer + paths.token,
  userinfo_endpoint: issuer + paths.userinfo,
  introspection_endpoint: issuer + paths.introspect,
  revocation_endpoint: issuer + paths.revoke,
  end_session_endpoint: issuer + paths.endSession,
  device_authorization_endpoint: issuer + paths.deviceAuthorization,
  jwks_uri: issuer + paths.keys,
  scopes_supported: scopes,
  response_types_supported: ["code", "id_token", "id_token token"],
  response_modes_supported: ["query", "fragment", "form_post"],
  grant_types_supported: Object.keys(grants),
  subject_types_supported: ["public"],
  acr_values_supported: authenticationClasses,
  id_token_signing_alg_values_supported: algorithms,
  ...ofClients,
  code_challenge_methods_supported: ["S256"],
  prompt_values_supported: prompts,
  ui_locales_supported: languages,
  claim_types_supported: ["normal"],
  claims_supported: claims,
  claims_parameter_supported: false,
  request_parameter_supported: false,
  request_uri_parameter_supported: false,
  // An application may be switched to require them.
  require_pushed_authorization_requests: false,
  authorization_response_iss_parameter_supported: true,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  ...(clientDocumentHosts.length > 0 ? { client_id_metadata_document_supported: true } : {}),
  protected_resources: [issuer],
});
