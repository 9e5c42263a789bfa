/** The number of sign-ins with a correct password, and of login names at which a password was refused. */
export type SignInCounts = ReturnType<typeof signInCounts>;

// If there are more names in a minute, the others are not counted: it is password spraying in any case.
const mostNames = 1_000;

/**
 * Counts sign-ins by password. A login name counts once a minute, whether or not a user has it, so that many names stand out from many
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
