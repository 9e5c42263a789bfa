/** How many passwords of sign-ins were right, and at how many login names they were refused. */
export type SignInCounts = ReturnType<typeof signInCounts>;

// Of more names in a minute, the others are not counted: this is a spray in any case.
const mostNames = 1_000;

/**
 * Counts sign-ins by password. A login name, whether a user has it or not, counts once a minute, so that many names stand out from many
 * guesses at one.
 */
export function signInCounts() {
  let [right, names] = [0, 0];
  let minute = 0;
  let seen = new Set<string>();

  return {
    right: (): void => void right++,

    refused(subject: string, now: Date): void {
      const current = Math.floor(now.getTime() / 60_000);
      if (current !== minute) [minute, seen] = [current, new Set()];
      if (seen.has(subject) || seen.size >= mostNames) return;
      seen.add(subject);
      names++;
    },

    read: () => ({ rightPasswords: right, refusedNames: names }),
  };
}
