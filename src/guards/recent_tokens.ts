/** The hashes of tokens that were used a moment ago. */
export type RecentTokens = {
  readonly hashOf: (token: string) => string | undefined;
  readonly keep: (token: string, hash: string) => void;
};

/**
 * Keeps the hashes of the tokens that callers were found by last: a twelfth of the server's work for a lone call is checking and
 * hashing its token. A hash says nothing about whether its token still counts. The connections hold the same tokens, in the heads
 * of their last requests.
 */
export function recentTokens(most = 1_000): RecentTokens {
  const hashes = new Map<string, string>();
  return {
    hashOf: (token) => hashes.get(token),
    keep(token, hash) {
      if (hashes.size >= most) hashes.clear();
      hashes.set(token, hash);
    },
  };
}
