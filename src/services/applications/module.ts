import { ApplicationService } from "../../../gen/postern/v1/application_pb.ts";
import type { Deps } from "../../deps.ts";
import { handlers, serving } from "../module.ts";
import { apiApplicationLateRules, apiApplicationRules, apiApplications } from "./api_application.ts";
import { apiApplicationFolds } from "./api_configuration.ts";
import { applicationFolds, applicationLateRules, applicationRules, applicationService } from "./application.ts";
import { applicationKeyRules, applicationKeys } from "./application_key.ts";
import { applicationUpdate, applicationUpdateLateRules, applicationUpdateRules } from "./update_application.ts";

type Parts = { readonly deps: Deps };

export const applications = {
  serves: [
    serving(ApplicationService, ({ deps }: Parts) =>
      handlers(applicationService(deps), applicationUpdate(deps), applicationKeys(deps), apiApplications(deps)),
    ),
  ],
  folds: { application: { ...applicationFolds, ...apiApplicationFolds } },
  rules: () => [...applicationRules, ...applicationUpdateRules, ...applicationKeyRules, ...apiApplicationRules],
  lateRules: (deps: Deps) => [
    ...applicationLateRules(deps),
    ...applicationUpdateLateRules(deps),
    ...apiApplicationLateRules(deps),
  ],
};
