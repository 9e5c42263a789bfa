/** The classes of sign-ins (`acr`) by the number of their factors, the weaker one first. */
export const authenticationClasses = ["urn:postern:acr:single-factor", "urn:postern:acr:multi-factor"] as const;

/** Whether the methods of a sign-in (RFC 8176) took more than one factor. */
export const isMultiFactor = (amr: readonly string[]): boolean => amr.includes("mfa");

/** The class of a sign-in by its methods. */
export const acrOf = (amr: readonly string[]): string => authenticationClasses[isMultiFactor(amr) ? 1 : 0];
