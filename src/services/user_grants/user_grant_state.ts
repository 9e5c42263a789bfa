import type { ServiceImpl } from "@connectrpc/connect";
import type { UserGrantService } from "../../../gen/postern/v1/user_grant_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { plainFact, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { activeStateFolds, activeStates } from "../writing/active_state.ts";

type FoundGrant = Versioned & { readonly active: boolean };

/** `find` fails if there is no such grant. */
export const userGrantState = (deps: Deps, find: (id: string, call: Call) => Promise<FoundGrant>) => {
  const states = activeStates(deps, (at, kind) => plainFact("userGrant", at, kind));
  return {
    deactivateUserGrant: async ({ userGrantId }, call) => states.deactivate(await find(userGrantId, call), call),
    reactivateUserGrant: async ({ userGrantId }, call) => states.reactivate(await find(userGrantId, call), call),
  } satisfies Partial<ServiceImpl<typeof UserGrantService>>;
};

export const userGrantStateFolds = activeStateFolds("user_grants", "user_grant_id") satisfies Pick<
  NounFolds<"userGrant">,
  "deactivated" | "reactivated"
>;
