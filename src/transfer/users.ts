import type { Clients } from "./client.ts";
import type { Item } from "./item.ts";
import { type Outcome, refusalIn } from "./outcome.ts";
import type { Reasons } from "./refused.ts";

type GrantItem = Extract<Item, { kind: "grant" }>;

/** The users that an import has created or found, so that no grant goes to somebody else with the id. */
export type Users = {
  /** Records the outcome for a user of the file. */
  readonly note: (userId: string, outcome: Outcome | undefined) => void;
  /** Finds the id of the user that a grant names, or the reason why there is none. */
  readonly idFor: (item: GrantItem) => Promise<string | Reasons>;
};

/**
 * Keeps the users of an import. The id derived from a username is not secret, so a user of another organization may have taken it. A name
 * is therefore trusted only if its user was created or found in this very run; otherwise it is looked up in the organization.
 */
export function usersOf({ users, organization }: Pick<Clients, "users" | "organization">): Users {
  const sure = new Set<string>();
  const refused = new Set<string>();
  const known = new Map<string, string | Reasons>();

  return {
    note(userId, outcome) {
      if (outcome === "made" || outcome === "there") sure.add(userId);
      else refused.add(userId);
    },

    async idFor({ username, grant: { userId } }) {
      if (sure.has(userId)) return userId;
      if (username === undefined) return refused.has(userId) ? refusedBefore(userId) : userId;
      const found = known.get(username) ?? (await lookedUp(username));
      known.set(username, found);
      return found;
    },
  };

  async function lookedUp(loginName: string): Promise<string | Reasons> {
    try {
      const { user } = await users.getUserByLoginName({ loginName, organizationId: organization });
      return user?.details?.resourceOwner === organization ? user.id : missing(loginName);
    } catch (error) {
      const reasons = refusalIn(error);
      return reasons.reason === "USER_NOT_FOUND" ? missing(loginName) : reasons;
    }
  }
}

const missing = (username: string): Reasons => ({
  reason: "USER_NOT_FOUND",
  message: `there is no user ${JSON.stringify(username)} in the organization`,
});

const refusedBefore = (userId: string): Reasons => ({
  reason: "USER_NOT_FOUND",
  message: `the user ${userId} of this file was refused`,
});
