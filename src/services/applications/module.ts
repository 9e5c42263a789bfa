import type { Deps } from "../../deps.ts";
import { handlers } from "../module.ts";
import { apiApplicationLateRules, apiApplicationRules, apiApplications } from "./api_application.ts";
import { apiApplicationFolds } from "./api_configuration.ts";
import { applicationFolds, applicationLateRules, applicationRules, applicationService } from "./application.ts";
import { applicationKeyRules, applicationKeys } from "./application_key.ts";
import { documentApplicationFolds } from "./document_application.ts";
import type { IssuerSettings } from "./issuer_here.ts";
import { unjudgedApplications } from "./judge_applications.ts";
import { applicationUpdate, applicationUpdateLateRules, applicationUpdateRules } from "./update_application.ts";

type Parts = { readonly deps: Deps };

export const applications = {
  serves: {
    ApplicationService: ({ deps }: Parts, settings: IssuerSettings) =>
      handlers(
        applicationService(deps),
        applicationUpdate(deps),
        applicationKeys(deps),
        apiApplications(deps, settings),
      ),
  },
  folds: { application: { ...applicationFolds, ...apiApplicationFolds, ...documentApplicationFolds } },
  rules: () => [...applicationRules, ...applicationUpdateRules, ...applicationKeyRules, ...apiApplicationRules],
  chores: ({ deps }: Parts) => [unjudgedApplications(deps)],
  lateRules: (deps: Deps) => [
    ...applicationLateRules(deps),
    ...applicationUpdateLateRules(deps),
    ...apiApplicationLateRules(deps),
  ],
};
