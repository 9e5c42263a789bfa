/** Normalizes a username for the comparison of login names. */
export const loginNameOf = (username: string): string => username.normalize("NFKC").toLowerCase();
