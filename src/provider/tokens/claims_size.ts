export type Claims = Readonly<Record<string, unknown>>;

// The size as JSON in UTF-8 with which base64url, the header, the longest signature and the names of omitted claims still fit into the
// maximum length of a JWT.
const claimsMaxBytes = 5_900;
const rolesMaxBytes = 4_096;

/** The claim that lists the claims omitted for lack of room, which userinfo returns. */
export const omittedClaim = "urn:postern:omitted_claims";

/** Claims that a token contains as far as there is room. */
export type OptionalClaims = { readonly profile: Claims; readonly roles: Claims };

/** Adds to the required claims each optional one that fits; roles have 4 KB in total. */
export function fitted(required: Claims, { profile, roles }: OptionalClaims): Claims {
  const withProfile = added(required, profile, claimsMaxBytes - sizeOf(required));
  const room = claimsMaxBytes - sizeOf(withProfile.claims);
  const { claims, omitted } = added(withProfile.claims, roles, Math.min(rolesMaxBytes, room));
  const names = [...withProfile.omitted, ...omitted];
  return names.length === 0 ? claims : { ...claims, [omittedClaim]: names };
}

/** Adds each claim that fits into the room that the earlier ones left. */
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
