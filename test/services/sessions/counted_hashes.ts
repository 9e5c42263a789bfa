import type { PasswordBench } from "../../../src/security/password.ts";
import type { Secrets } from "../../../src/security/secrets.ts";

/** Checks passwords as before, and tells of each check whether it was of a user's hash or of the decoy. */
export function countedHashes({ passwords, ...others }: Secrets, note: (checked: "user" | "decoy") => void): Secrets {
  const counting = (bench: PasswordBench): PasswordBench => ({
    ...bench,
    verify(...given) {
      note("user");
      return bench.verify(...given);
    },
  });
  return {
    ...others,
    passwords: {
      ...passwords,
      verifyDecoy(...given) {
        note("decoy");
        return passwords.verifyDecoy(...given);
      },
      inOnePlace: (work, place) => passwords.inOnePlace((bench) => work(counting(bench)), place),
    },
  };
}
