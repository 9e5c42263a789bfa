import type { Deps } from "../../deps.ts";
import { accountService } from "./account.ts";

type Parts = { readonly deps: Deps };

/** The caller's own account. */
export const account = { serves: { AccountService: ({ deps }: Parts) => accountService(deps) } };
