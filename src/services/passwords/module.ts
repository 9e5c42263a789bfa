import type { Deps } from "../../deps.ts";
import { handlers } from "../module.ts";
import type { NoticeSettings } from "../verification/notice.ts";
import { attemptFolds } from "./attempt_fold.ts";
import { ownPassword, ownPasswordLateRules } from "./own_password.ts";
import { passwordChores } from "./password_chores.ts";
import { type PasswordResets, passwordResetCalls, passwordResetRules } from "./password_reset.ts";
import { passwordSetting } from "./set_password.ts";

type Parts = { readonly deps: Deps; readonly resets: PasswordResets };

/** Passwords, and attempts at them and at others. */
export const passwords = {
  serves: {
    AccountService: ({ deps, resets }: Parts, settings: NoticeSettings) =>
      handlers(passwordResetCalls(resets), ownPassword(deps, settings)),
    UserService: ({ deps }: Parts, settings: NoticeSettings) => passwordSetting(deps, settings),
  },
  folds: { attempt: attemptFolds },
  rules: () => passwordResetRules,
  lateRules: ownPasswordLateRules,
  chores: ({ deps }: Parts) => passwordChores(deps),
};
