import { newToken } from "../../security/token.ts";

/**
 * Makes the text of a refresh token: a part that all tokens of a sign-in share, and one of its own. If the shared part is known but the
 * token has no row, it was replaced long ago, so detecting reuse does not require keeping rows.
 */
export const firstRefreshToken = (): string => inFamily(newToken("or"));

/** Makes the text of the next refresh token; if the old one has no family, neither has the new one. */
export function nextRefreshToken(old: string): string {
  const family = familyOf(old);
  return family === undefined ? newToken("or") : inFamily(family);
}

/** The part that a refresh token shares with all others of its sign-in; undefined for one issued by an earlier release. */
export const familyOf = (token: string): string | undefined =>
  /^(or_[0-9A-Za-z]{33})_[0-9A-Za-z]{33}$/.exec(token)?.[1];

const inFamily = (family: string): string => family + newToken("or").slice(prefixLength);

const prefixLength = "or".length;
