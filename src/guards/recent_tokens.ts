/** The hashes of recently used tokens. */
export type RecentTokens = {
  readonly hashOf: (token: string) => string | undefined;
  readonly keep: (token: string, hash: string) => void;
};

/**
 * Keeps the hashes of the tokens that most recently identified a caller: checking and hashing the token is a twelfth of the server's work
 * for a lone call. A hash does not mean that its token is still valid. The tokens are secrets, and stay in memory after they have ended,
 * until others replace them.
 */
export function recentTokens(most = 1_000): RecentTokens {
  const hashes = new Map<string, string>();
  return {
    hashOf: (token) => hashes.get(token),
    keep(token, hash) {
      if (hashes.size >= most) hashes.clear();
      // A slice of a header would keep all of it alive, with as many spaces before the token as a header may contain.
      hashes.set(Buffer.from(token, "latin1").toString("latin1"), hash);
    },
  };
}
