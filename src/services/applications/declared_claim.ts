import { ClaimPlace, type OidcConfiguration } from "../../../gen/postern/v1/application_pb.ts";
import type { Violation } from "../../errors.ts";

/**
 * Names that no application declares, in lower case: those with which libraries and APIs check tokens, those that mean somebody or something
 * in all of them, and our own. Not among them are `groups` and `entitlements`, which RFC 9068, 2.2.3.1 leaves to declare.
 */
const reserved: ReadonlySet<string> = new Set([
  // RFC 7519 and 7800, and what logout tokens and security events have.
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
  // What objects of JavaScript have: a client that copies claims into one would change others.
  ...["__proto__", "constructor", "prototype"],
]);

const ours = "urn:postern:";

/** Finds declared claims without a source, with a name that is reserved, or with one that another has. */
export function declaredViolations({ declaredClaims }: Pick<OidcConfiguration, "declaredClaims">): Violation[] {
  const names = declaredClaims.map(({ name }) => name.toLowerCase());
  return declaredClaims.flatMap(({ name, source, places }, n): Violation[] => {
    const field = `declaredClaims[${n}]`;
    const earlier = names.indexOf(name.toLowerCase());
    return [
      ...(source.case === undefined ? [{ field, text: "CLAIM_SOURCE", reason: "REQUIRED" } as const] : []),
      ...(isReserved(name)
        ? [{ field: `${field}.name`, text: "CLAIM_RESERVED", reason: "CLAIM_RESERVED" } as const]
        : []),
      ...places.flatMap((place, at) => (place === ClaimPlace.UNSPECIFIED ? [required(`${field}.places[${at}]`)] : [])),
      ...(earlier < n ? [repeated(`${field}.name`, `declaredClaims[${earlier}].name`)] : []),
    ];
  });
}

const isReserved = (name: string): boolean => reserved.has(name.toLowerCase()) || name.toLowerCase().startsWith(ours);

const required = (field: string): Violation => ({ field, text: "FIELD_REQUIRED", reason: "REQUIRED" });

const repeated = (field: string, other: string): Violation => ({
  field,
  text: "ITEM_REPEATED",
  params: { other },
  reason: "REPEATED",
});
