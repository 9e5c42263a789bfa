import type { Deps } from "../../deps.ts";
import { projectGrantChangeLateRules } from "./change_project_grant.ts";
import { projectFolds, projectRules, projectService } from "./project.ts";
import { projectGrantFolds, projectGrantLateRules, projectGrantRules } from "./project_grant.ts";
import { projectRoleLateRules, projectRoleRules } from "./project_role.ts";

type Parts = { readonly deps: Deps };

/** Projects, their roles and their grants to other organizations. */
export const projects = {
  serves: { ProjectService: ({ deps }: Parts) => projectService(deps) },
  folds: { project: projectFolds, projectGrant: projectGrantFolds },
  rules: () => [...projectRules, ...projectGrantRules, ...projectRoleRules],
  lateRules: (deps: Deps) => [
    ...projectGrantLateRules(deps),
    ...projectGrantChangeLateRules(deps),
    ...projectRoleLateRules(deps),
  ],
};
