import type { Deps } from "../../deps.ts";
import { attemptFolds } from "./attempt_fold.ts";
import { passwordChores } from "./password_expiry.ts";
import { accountRules } from "./password_reset.ts";

type Parts = { readonly deps: Deps };

/** Passwords, whose rpcs are of the account and of users, and attempts at them and at others. */
export const passwords = {
  folds: { attempt: attemptFolds },
  rules: () => accountRules,
  chores: ({ deps }: Parts) => passwordChores(deps),
};
