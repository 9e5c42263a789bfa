import type { Deps } from "../../deps.ts";
import { expiredBearers } from "./bearer_chores.ts";

/** The directory of bearers: the tokens of sessions, and access tokens. */
export const callers = { chores: ({ deps }: { readonly deps: Deps }) => [expiredBearers(deps)] };
