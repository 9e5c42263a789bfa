import type { ServiceImpl } from "@connectrpc/connect";
import type { ApplicationService } from "../../../gen/postern/v1/application_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { plainFact, type Versioned } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { activeStateFolds, activeStates } from "../writing/active_state.ts";
import { stillJudged } from "./stored_compliance.ts";

type Named = { readonly projectId: string; readonly appId: string };
type FoundApplication = Versioned & { readonly active: boolean };

/** `find` fails if there is no such application. */
export const applicationState = (deps: Deps, find: (named: Named, call: Call) => Promise<FoundApplication>) => {
  const states = activeStates(deps, (at, kind) => plainFact("application", at, kind));
  return {
    deactivateApplication: async (request, call) => states.deactivate(await find(request, call), call),
    reactivateApplication: async (request, call) => states.reactivate(await find(request, call), call),
  } satisfies Partial<ServiceImpl<typeof ApplicationService>>;
};

export const applicationStateFolds = activeStateFolds("applications", "app_id", stillJudged) satisfies Pick<
  NounFolds<"application">,
  "deactivated" | "reactivated"
>;
