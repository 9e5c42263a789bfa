/** Claims by their names. */
export type Claims = Readonly<Record<string, unknown>>;

// As JSON in UTF-8, so that base64url, the header, the longest signature and the names of omitted claims stay within the length of a JWT.
const claimsMaxBytes = 5_900;
const rolesMaxBytes = 4_096;

/** The claim that names those that a token has no room for; userinfo has them. */
export const omittedClaim = "urn:postern:omitted_claims";

/** Claims that a token carries as far as there is room. */
export type OptionalClaims = { readonly profile: Claims; readonly roles: Claims };

/** Adds claims to those that a token must have, each if there is room for it; roles together have 4 KB. */
export function fitted(required: Claims, { profile, roles }: OptionalClaims): Claims {
  const withProfile = added(required, profile, claimsMaxBytes - sizeOf(required));
  const room = claimsMaxBytes - sizeOf(withProfile.claims);
  const { claims, omitted } = added(withProfile.claims, roles, Math.min(rolesMaxBytes, room));
  const names = [...withProfile.omitted, ...omitted];
  return names.length === 0 ? claims : { ...claims, [omittedClaim]: names };
}

/** Adds each claim that fits into what the ones before it left of the room. */
function added(claims: Claims, more: Claims, room: number): { claims: Claims; omitted: readonly string[] } {
  let [left, all, omitted] = [room, claims, [] as readonly string[]];
  for (const [name, value] of Object.entries(more)) {
    const size = sizeOf({ [name]: value });
    if (size > left) omitted = [...omitted, name];
    else [left, all] = [left - size, { ...all, [name]: value }];
  }
  return { claims: all, omitted };
}

const sizeOf = (claims: Claims): number => Buffer.byteLength(JSON.stringify(claims));
