import type { Outcome } from "./outcome.ts";

/** The outcome of a scene at Postern and at the library, and the reason why they differ. */
export type Difference = { readonly ours: Outcome; readonly theirs: Outcome; readonly reason: string };

/** The scenes whose outcomes differ. */
export const differences: Readonly<Record<string, Difference>> = {
  "a response_type that does not exist": {
    ours: { status: 303, in: "query", error: "unsupported_response_type", iss: "the issuer", state: "st&te =1" },
    theirs: { status: 303, in: "fragment", error: "unsupported_response_type", iss: "the issuer", state: "st&te =1" },
    reason: "the library takes any unknown type that begins with `token` for one of the implicit flow",
  },
  "a response_type that is not the client's": {
    ours: { status: 303, in: "fragment", error: "unauthorized_client", iss: "the issuer", state: "st&te =1" },
    theirs: { status: 303, in: "fragment", error: "invalid_request", iss: "the issuer", state: "st&te =1" },
    reason: "RFC 6749, 4.2.2.1 has unauthorized_client for it",
  },
  "a response_mode that does not exist": {
    ours: { status: 303, in: "query", error: "invalid_request", iss: "the issuer", state: "st&te =1" },
    theirs: { status: 303, in: "query", error: "unsupported_response_mode", iss: "the issuer", state: "st&te =1" },
    reason: "no specification names the library's code",
  },
  "no redirect_uri": {
    ours: { page: "error", status: 400 },
    theirs: { page: "password", status: 200 },
    reason: "OpenID Connect Core 1.0, 3.1.2.1 requires one; the library takes the only one that is registered",
  },
  "redirect_uri twice": {
    ours: { page: "error", status: 400 },
    theirs: { status: 303, in: "query", error: "invalid_request", iss: "the issuer", state: "st&te =1" },
    reason: "with two of them neither is proven, so the error stays with us; the library goes to the first",
  },
  "an ID token by query": {
    ours: { status: 303, in: "fragment", error: "invalid_request", iss: "the issuer", state: "st&te =1" },
    theirs: { status: 303, in: "query", error: "invalid_request", iss: "the issuer", state: "st&te =1" },
    reason: "an error in the mode that is refused would itself be the refused mode",
  },
  "a code of an implicit client": {
    ours: { status: 303, in: "query", error: "unauthorized_client", iss: "the issuer", state: "st&te =1" },
    theirs: { status: 303, in: "query", error: "invalid_request", iss: "the issuer", state: "st&te =1" },
    reason: "RFC 6749, 4.1.2.1 has unauthorized_client for it",
  },
  "a sign-in": {
    ours: { status: 200, in: "query", code: "there", iss: "the issuer", state: "st&te =1" },
    theirs: { status: 303, in: "query", code: "there", iss: "the issuer", state: "st&te =1" },
    reason:
      "a form of ours is answered by a page that leads on, since Chromium holds redirects against the policy of the form",
  },
  "an ID token from the authorization endpoint": {
    ours: { status: 200, in: "fragment", id_token: "there", iss: "the issuer", state: "st&te =1" },
    theirs: { status: 303, in: "fragment", id_token: "there", state: "st&te =1" },
    reason: "RFC 9207 asks for iss in every response; the library leaves it out beside an ID token",
  },
  "an ID token with an access token from the authorization endpoint": {
    ours: [
      {
        status: 200,
        in: "fragment",
        access_token: "there",
        expires_in: "there",
        id_token: "there",
        iss: "the issuer",
        scope: "there",
        state: "st&te =1",
        token_type: "Bearer",
      },
      [
        "acr",
        "amr",
        "at_hash",
        "aud",
        "auth_time",
        "exp",
        "iat",
        "iss",
        "nonce",
        "sid",
        "sub",
        "urn:postern:organization:id",
      ],
    ],
    theirs: [
      {
        status: 303,
        in: "fragment",
        access_token: "there",
        expires_in: "there",
        id_token: "there",
        scope: "there",
        state: "st&te =1",
        token_type: "Bearer",
      },
      ["at_hash", "aud", "exp", "iat", "iss", "nonce", "sub"],
    ],
    reason: "iss as above; our ID tokens always say when and how the user signed in",
  },
  "the header and the claims of an ID token": {
    ours: [
      ["alg", "kid", "typ"],
      [
        "acr",
        "amr",
        "at_hash",
        "aud",
        "auth_time",
        "exp",
        "iat",
        "iss",
        "nonce",
        "sid",
        "sub",
        "urn:postern:organization:id",
      ],
      true,
      true,
      true,
    ],
    theirs: [["alg", "kid"], ["aud", "exp", "iat", "iss", "nonce", "sub"], true, true, true],
    reason:
      "our ID tokens have a typ, always say when, how and for which organization the user signed in, and name their access token",
  },
  "a code without its redirect URI": {
    ours: { status: 400, error: "invalid_grant" },
    theirs: {
      status: 200,
      access_token: "there",
      expires_in: "there",
      id_token: "there",
      scope: "there",
      token_type: "Bearer",
    },
    reason: "RFC 6749, 4.1.3 requires it where the authorization request had one; the library lets it go with PKCE",
  },
  "a code with a verifier that is too short": {
    ours: { status: 400, error: "invalid_grant" },
    theirs: { status: 400, error: "invalid_request" },
    reason: "RFC 7636, 4.6 has invalid_grant for a verifier that does not fit",
  },
  "a grant_type that is not the client's": {
    ours: { status: 400, error: "unauthorized_client" },
    theirs: { status: 400, error: "invalid_request" },
    reason: "RFC 6749, 5.2 has unauthorized_client for it",
  },
  "a header that is no Basic": {
    ours: { status: 401, error: "invalid_client" },
    theirs: { status: 400, error: "invalid_request" },
    reason: "RFC 6749, 5.2 has invalid_client for an authentication that fails",
  },
  "a secret in the form in place of the header": {
    ours: { status: 401, error: "invalid_client" },
    theirs: {
      status: 200,
      access_token: "there",
      expires_in: "there",
      id_token: "there",
      scope: "there",
      token_type: "Bearer",
    },
    reason: "an application authenticates by the one method that it is registered for",
  },
  "a secret in the header in place of the form": {
    ours: { status: 401, error: "invalid_client" },
    theirs: {
      status: 200,
      access_token: "there",
      expires_in: "there",
      id_token: "there",
      scope: "there",
      token_type: "Bearer",
    },
    reason: "an application authenticates by the one method that it is registered for",
  },
  "the token endpoint by GET": { ours: 405, theirs: 404, reason: "the path is there, the method is not: 405" },
  "userinfo by GET": {
    ours: [200, ["sub", "urn:postern:organization:id"]],
    theirs: [200, ["sub"]],
    reason: "our answers name the organization that the user signed in for",
  },
  "userinfo by POST": {
    ours: [200, ["sub", "urn:postern:organization:id"]],
    theirs: [200, ["sub"]],
    reason: "our answers name the organization that the user signed in for",
  },
  "userinfo by a form": {
    ours: [200, ["sub", "urn:postern:organization:id"]],
    theirs: [200, ["sub"]],
    reason: "our answers name the organization that the user signed in for",
  },
  "userinfo with the token in the query": {
    ours: [401, "Bearer", null, "invalid_token"],
    theirs: [400, "Bearer", "invalid_request", "invalid_request"],
    reason: "we read no token from a query, so there is none; the library says that it saw one",
  },
  "userinfo with the scope profile": {
    ours: [
      200,
      ["family_name", "given_name", "name", "preferred_username", "sub", "updated_at", "urn:postern:organization:id"],
    ],
    theirs: [200, ["name", "preferred_username", "sub"]],
    reason: "names that the library's account does not have, and the organization",
  },
  "introspection of an access token": {
    ours: {
      status: 200,
      active: "true",
      aud: "there",
      client_id: "there",
      exp: "there",
      iat: "there",
      iss: "the issuer",
      roles: "there",
      scope: "there",
      sub: "there",
      token_type: "Bearer",
      "urn:postern:organization:id": "there",
      username: "there",
    },
    theirs: {
      status: 200,
      active: "true",
      client_id: "there",
      exp: "there",
      iat: "there",
      iss: "the issuer",
      scope: "there",
      sub: "there",
      token_type: "Bearer",
    },
    reason: "our answers have the audience, the user, its organization and roles",
  },
  "introspection by a client without a secret": {
    ours: { status: 401, error: "invalid_client" },
    theirs: { status: 200, active: "false" },
    reason: "who has no secret may ask about no token; the library answers as for an unknown one",
  },
  "introspection by another client": {
    ours: { status: 200, active: "false" },
    theirs: {
      status: 200,
      active: "true",
      client_id: "there",
      exp: "there",
      iat: "there",
      iss: "the issuer",
      scope: "there",
      sub: "there",
      token_type: "Bearer",
    },
    reason: "only the applications of the project that a token is for may ask about it",
  },
  "introspection of an ID token": {
    ours: { status: 200, active: "false" },
    theirs: { status: 400, error: "unsupported_token_type" },
    reason: "RFC 7662, 2.2 has active: false for what is no token of ours; the library knows a code for it",
  },
  "revocation by another client": {
    ours: [{ status: 400, error: "invalid_grant" }, [200, ["sub", "urn:postern:organization:id"]]],
    theirs: [{ status: 400, error: "invalid_request" }, [200, ["sub"]]],
    reason: "RFC 7009, 2.1 names no code; the token stays good at both",
  },
  "a refresh with more scope": {
    ours: { status: 400, error: "invalid_scope" },
    theirs: { status: 400, error: "invalid_scope", scope: "there" },
    reason: "the library repeats the scope in an extra field",
  },
  "a refresh at a client without the grant type": {
    ours: { status: 400, error: "unauthorized_client" },
    theirs: { status: 400, error: "invalid_request" },
    reason: "RFC 6749, 5.2 has unauthorized_client for it",
  },
  "a refresh token that comes again at once": {
    ours: [200, 200],
    theirs: [400, 400],
    reason: "two tabs that refresh at once get the same successor for ten seconds; the library ends the sign-in",
  },
};

/** The values of the discovery document that differ, with the reason. */
export const discoveryDifferences: Readonly<Record<string, string>> = {
  acr_values_supported: "ours are classes by the number of factors; the library has none unless it is configured",
  claims_supported: "ours are those of the users that Postern has",
  dpop_signing_alg_values_supported: "the library takes no proofs unless it is configured",
  grant_types_supported:
    "ours has those of machines, by a secret, by an assertion of their own, and on behalf of users",
  introspection_endpoint_auth_methods_supported: "who has no secret may ask about no token",
  introspection_endpoint_auth_signing_alg_values_supported: "ours has the algorithms of more kinds of keys",
  prompt_values_supported: "ours has select_account",
  protected_resources: "our own API, for applications of the instance",
  pushed_authorization_request_endpoint: "the library has none unless it is configured",
  request_parameter_supported: "the library leaves out a value that is false by default",
  require_pushed_authorization_requests: "said by a server that takes pushed requests",
  revocation_endpoint_auth_methods_supported: "an order of the same methods",
  revocation_endpoint_auth_signing_alg_values_supported: "ours has the algorithms of more kinds of keys",
  scopes_supported: "ours has phone and roles",
  token_endpoint_auth_signing_alg_values_supported: "ours has the algorithms of more kinds of keys",
  ui_locales_supported: "ours are the languages of our pages",
};
