import { AccountService } from "../../../gen/postern/v1/account_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import type { PasswordResets } from "../passwords/password_reset.ts";
import type { NoticeSettings } from "../verification/notice.ts";
import { accountLateRules, accountService } from "./account.ts";

type Parts = { readonly deps: Deps; readonly resets: PasswordResets };

export const account = {
  serves: [
    serving(AccountService, ({ deps, resets }: Parts, settings: NoticeSettings) =>
      accountService(deps, resets, settings),
    ),
  ],
  lateRules: accountLateRules,
};
