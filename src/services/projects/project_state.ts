import type { ServiceImpl } from "@connectrpc/connect";
import { type ProjectService, ProjectState } from "../../../gen/postern/v1/project_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import { type NounFolds, touch } from "../../events/fold.ts";
import type { ReadableProject } from "./project_read.ts";

/** Deactivating and reactivating projects, by the organization that owns them. */
export const projectState = ({ log, clock }: Deps, readable: ReadableProject) => {
  return {
    async deactivateProject({ projectId }, call) {
      const row = await owned(projectId, call);
      if (!row.active) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const deactivated = factOf("project", at, { case: "deactivated", value: {} });
      return log.append(call, [deactivated], { details: detailsAfter(at) });
    },

    async reactivateProject({ projectId }, call) {
      const row = await owned(projectId, call);
      if (row.active) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const reactivated = factOf("project", at, { case: "reactivated", value: {} });
      return log.append(call, [reactivated], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof ProjectService>>;

  async function owned(projectId: string, call: Call) {
    const row = await readable(projectId, call);
    if (row.grantId !== null) throw refuse.notFound("project", projectId);
    return row;
  }
};

/** The folds of facts about the state of a project: they write its row. */
export const projectStateFolds = {
  deactivated: { views: [touch("projects", "project_id", "active = false")] },
  reactivated: { views: [touch("projects", "project_id", "active = true")] },
} satisfies Pick<NounFolds<"project">, "deactivated" | "reactivated">;

/** Returns the state of a project in a response. */
export const stateOfProject = (active: boolean) => (active ? ProjectState.ACTIVE : ProjectState.INACTIVE);
