import type { Deps } from "../../deps.ts";
import { instanceFolds, organizationFolds, organizationRules, organizationService } from "./organization.ts";

type Parts = { readonly deps: Deps };

/** Organizations, their states and their branding. */
export const organizations = {
  serves: { OrganizationService: ({ deps }: Parts) => organizationService(deps) },
  folds: { instance: instanceFolds, organization: organizationFolds },
  rules: () => organizationRules,
};
