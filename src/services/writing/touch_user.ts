import { touch } from "../../events/fold.ts";

/** Composes the update of a user's row by a fact about the user. */
export const touchUser = (columns?: string): string => touch("users", "user_id", columns);
