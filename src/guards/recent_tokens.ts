/** The hashes of tokens that were used a moment ago. */
export type RecentTokens = {
  readonly hashOf: (token: string) => string | undefined;
  readonly keep: (token: string, hash: string) => void;
};

/**
 * Keeps the hashes of the tokens that callers were found by last: a twelfth of the server's work for a lone call is checking and
 * hashing its token. A hash says nothing about whether its token still counts. The tokens are secrets, and stay in the memory of the
 * process after they have ended, until others have filled their places.
 */
export function recentTokens(most = 1_000): RecentTokens {
  const hashes = new Map<string, string>();
  return {
    hashOf: (token) => hashes.get(token),
    keep(token, hash) {
      if (hashes.size >= most) hashes.clear();
      // A part of a header would keep all of it, with as many blanks before the token as a header may have.
      hashes.set(Buffer.from(token, "latin1").toString("latin1"), hash);
    },
  };
}
