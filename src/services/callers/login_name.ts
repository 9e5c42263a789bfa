/** Normalizes a username for comparison with login names. */
export const loginNameOf = (username: string): string => username.normalize("NFKC").toLowerCase();
