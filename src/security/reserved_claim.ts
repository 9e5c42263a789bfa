/**
 * Names that no application may declare, in lower case: those with which libraries and APIs check tokens, those that mean a person or a
 * thing in all of them, and our own. Not among them are `groups` and `entitlements`, which RFC 9068, 2.2.3.1 leaves to be declared.
 */
const reserved: ReadonlySet<string> = new Set([
  // RFC 7519 and 7800, and the claims of logout tokens and security events.
  ...["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "cnf", "events", "toe", "txn", "sub_id"],
  // OpenID Connect Core 1.0, 2 and 3.3.2.11, 5.6.2 and 7; Front-Channel Logout 1.0.
  ...["auth_time", "nonce", "acr", "amr", "azp", "at_hash", "c_hash", "s_hash", "sid", "sub_jwk"],
  ...["_claim_names", "_claim_sources"],
  // RFC 7662, 8693, 9068, 9396 and 9493.
  ...["active", "scope", "client_id", "username", "token_type", "act", "may_act", "authorization_details", "roles"],
  // OpenID Connect Core 1.0, 5.1.
  ...["name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture"],
  ...["website", "email", "email_verified", "gender", "birthdate", "zoneinfo", "locale", "phone_number"],
  ...["phone_number_verified", "address", "updated_at"],
  // The properties of JavaScript objects: a client that copies claims into one would change others.
  ...["__proto__", "constructor", "prototype"],
]);

const ours = "urn:postern:";

/** Whether an application cannot declare a claim of this name. */
export const isReservedClaim = (name: string): boolean =>
  reserved.has(name.toLowerCase()) || name.toLowerCase().startsWith(ours);
