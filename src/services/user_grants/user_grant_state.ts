import type { ServiceImpl } from "@connectrpc/connect";
import type { UserGrantService } from "../../../gen/postern/v1/user_grant_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { type NounFolds, touch } from "../../events/fold.ts";

type FoundGrant = Versioned & { readonly active: boolean };

/** Deactivating and reactivating user grants; `find` refuses when there is none. */
export const userGrantState = ({ log, clock }: Deps, find: (id: string, call: Call) => Promise<FoundGrant>) => {
  return {
    async deactivateUserGrant({ userGrantId }, call) {
      const row = await find(userGrantId, call);
      if (!row.active) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const deactivated = factOf("userGrant", at, { case: "deactivated", value: {} });
      return log.append(call, [deactivated], { details: detailsAfter(at) });
    },

    async reactivateUserGrant({ userGrantId }, call) {
      const row = await find(userGrantId, call);
      if (row.active) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const reactivated = factOf("userGrant", at, { case: "reactivated", value: {} });
      return log.append(call, [reactivated], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof UserGrantService>>;
};

/** The folds of facts about the state of a user grant: they write its row. */
export const userGrantStateFolds = {
  deactivated: { views: [touch("user_grants", "user_grant_id", "active = false")] },
  reactivated: { views: [touch("user_grants", "user_grant_id", "active = true")] },
} satisfies Pick<NounFolds<"userGrant">, "deactivated" | "reactivated">;
