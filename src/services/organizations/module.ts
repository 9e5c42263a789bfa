import { OrganizationService } from "../../../gen/postern/v1/organization_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { instanceFolds, organizationFolds, organizationRules, organizationService } from "./organization.ts";

type Parts = { readonly deps: Deps };

/** Organizations, their states and their branding. */
export const organizations = {
  serves: [serving(OrganizationService, ({ deps }: Parts) => organizationService(deps))],
  folds: { instance: instanceFolds, organization: organizationFolds },
  rules: () => organizationRules,
};
