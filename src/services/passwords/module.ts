import { attemptFolds } from "./attempt_fold.ts";
import { accountRules } from "./password_reset.ts";

/** Passwords, whose rpcs belong to the account and to users, and attempts at signing in. */
export const passwords = { rules: () => accountRules, folds: { attempt: attemptFolds } };
