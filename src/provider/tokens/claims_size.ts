export type Claims = Readonly<Record<string, unknown>>;

// The size as JSON in UTF-8 with which base64url, the header, the longest signature and the names of omitted claims still fit into the
// maximum length of a JWT.
const claimsMaxBytes = 5_900;
const rolesMaxBytes = 4_096;
const declaredMaxBytes = 4_096;

/** The claim that lists the claims omitted for lack of room. Userinfo returns them; declared claims only if they are declared for it. */
export const omittedClaim = "urn:postern:omitted_claims";

/** Claims by their origin. If there is little room, only the required ones are certain to be included. */
export type ClaimParts = Readonly<Record<"required" | "profile" | "roles" | "declared", Claims>>;

/** All claims, for where room is no concern. */
export const joined = ({ required, profile, roles, declared }: ClaimParts): Claims => ({
  ...required,
  ...profile,
  ...roles,
  ...declared,
});

/** Adds to the required claims each optional one that fits; roles may take 4 KB in total, and so may declared claims. */
export function fitted({ required, profile, roles, declared }: ClaimParts): Claims {
  // Leaves room to list all names of declared claims.
  const most = claimsMaxBytes - sizeOf(Object.keys(declared));
  const withProfile = added(required, profile, most - sizeOf(required));
  const withRoles = added(withProfile.claims, roles, Math.min(rolesMaxBytes, most - sizeOf(withProfile.claims)));
  const { claims, omitted } = added(
    withRoles.claims,
    declared,
    Math.min(declaredMaxBytes, most - sizeOf(withRoles.claims)),
  );
  const names = [...withProfile.omitted, ...withRoles.omitted, ...omitted];
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

const sizeOf = (claims: Claims | readonly string[]): number => Buffer.byteLength(JSON.stringify(claims));
