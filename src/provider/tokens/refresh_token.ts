import { newToken } from "../../security/token.ts";

/**
 * Makes the text of a refresh token: a part that all those of one sign-in share, and one of its own. One with a known part and without a
 * row was replaced long ago, so no row has to be kept to notice it.
 */
export const firstRefreshToken = (): string => inFamily(newToken("or"));

/** Makes the text of the next refresh token; after one that has no family it has none either. */
export function nextRefreshToken(old: string): string {
  const family = familyOf(old);
  return family === undefined ? newToken("or") : inFamily(family);
}

/** The part that a refresh token shares with all others of its sign-in; undefined for one of an earlier release. */
export const familyOf = (token: string): string | undefined =>
  /^(or_[0-9A-Za-z]{33})_[0-9A-Za-z]{33}$/.exec(token)?.[1];

const inFamily = (family: string): string => family + newToken("or").slice(prefixLength);

const prefixLength = "or".length;
