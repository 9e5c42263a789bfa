import type { ServiceImpl } from "@connectrpc/connect";
import type { ApplicationService } from "../../../gen/postern/v1/application_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../../events/fact.ts";
import { type NounFolds, touch } from "../../events/fold.ts";

type Named = { readonly projectId: string; readonly appId: string };
type FoundApplication = Versioned & { readonly active: boolean };

/** Deactivating and reactivating applications; `find` refuses when there is none. */
export const applicationState = (
  { log, clock }: Deps,
  find: (named: Named, call: Call) => Promise<FoundApplication>,
) => {
  return {
    async deactivateApplication(request, call) {
      const row = await find(request, call);
      if (!row.active) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const deactivated = factOf("application", at, { case: "deactivated", value: {} });
      return log.append(call, [deactivated], { details: detailsAfter(at) });
    },

    async reactivateApplication(request, call) {
      const row = await find(request, call);
      if (row.active) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const reactivated = factOf("application", at, { case: "reactivated", value: {} });
      return log.append(call, [reactivated], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof ApplicationService>>;
};

/** The folds of facts about the state of an application: they write its row. */
export const applicationStateFolds = {
  deactivated: { views: [touch("applications", "app_id", "active = false")] },
  reactivated: { views: [touch("applications", "app_id", "active = true")] },
} satisfies Pick<NounFolds<"application">, "deactivated" | "reactivated">;
