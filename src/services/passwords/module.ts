import { attemptFolds } from "./attempt_fold.ts";
import { accountRules } from "./password_reset.ts";

/** Passwords, whose rpcs are of the account and of users, and attempts at them and at others. */
export const passwords = { rules: () => accountRules, folds: { attempt: attemptFolds } };
