import type { ServiceImpl } from "@connectrpc/connect";
import { type ProjectService, ProjectState } from "../../../gen/postern/v1/project_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { plainFact } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { activeStateFolds, activeStates } from "../writing/active_state.ts";
import type { ReadableProject } from "./readable_project.ts";

/** Only the organization that owns a project deactivates and reactivates it. */
export const projectState = (deps: Deps, readable: ReadableProject) => {
  const states = activeStates(deps, (at, kind) => plainFact("project", at, kind));
  return {
    deactivateProject: async ({ projectId }, call) => states.deactivate(await owned(projectId, call), call),
    reactivateProject: async ({ projectId }, call) => states.reactivate(await owned(projectId, call), call),
  } satisfies Partial<ServiceImpl<typeof ProjectService>>;

  async function owned(projectId: string, call: Call) {
    const row = await readable(projectId, call);
    if (row.grantId !== null) throw refuse.notFound("project", projectId);
    return row;
  }
};

export const projectStateFolds = activeStateFolds("projects", "project_id") satisfies Pick<
  NounFolds<"project">,
  "deactivated" | "reactivated"
>;

export const stateOfProject = (active: boolean) => (active ? ProjectState.ACTIVE : ProjectState.INACTIVE);
