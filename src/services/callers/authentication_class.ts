/** The authentication context classes (`acr`) by number of factors, the weakest first. */
export const authenticationClasses = ["urn:postern:acr:single-factor", "urn:postern:acr:multi-factor"] as const;

/** Whether the methods of a sign-in (RFC 8176) include more than one factor. */
export const isMultiFactor = (amr: readonly string[]): boolean => amr.includes("mfa");

export const acrOf = (amr: readonly string[]): string => authenticationClasses[isMultiFactor(amr) ? 1 : 0];
