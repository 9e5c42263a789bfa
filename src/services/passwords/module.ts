import { accountRules } from "./password_reset.ts";

/** Passwords; their rpcs are of the account and of users. */
export const passwords = { rules: () => accountRules };
