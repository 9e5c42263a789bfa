import type { Clients } from "./client.ts";
import type { NewProject } from "./item.ts";
import { refusalIn } from "./outcome.ts";

/** The ids of projects by name, read when a name is first needed. */
export type Projects = {
  readonly idOf: (name: string) => Promise<string | undefined>;
  /** Creates the project unless it exists; returns whether it is new. */
  readonly create: (project: NewProject) => Promise<{ readonly projectId: string; readonly isNew: boolean }>;
};

export function projectsOf({ projects }: Pick<Clients, "projects">): Projects {
  const ids = new Map<string, string>();
  let listed: Promise<void> | undefined;
  return { idOf, create };

  async function idOf(name: string): Promise<string | undefined> {
    listed ??= ids.has(name) ? undefined : list();
    if (!ids.has(name)) await listed;
    return ids.get(name);
  }

  async function list(): Promise<void> {
    for (let pageToken = ""; ; ) {
      const page = await projects.listProjects({ pageSize: 1000, pageToken });
      for (const { id, name } of page.projects) if (!ids.has(name)) ids.set(name, id);
      pageToken = page.nextPageToken;
      if (pageToken === "") return;
    }
  }

  async function create({ name, grantRequired }: NewProject) {
    const known = ids.get(name);
    if (known !== undefined) return { projectId: known, isNew: false };
    try {
      const { projectId } = await projects.createProject({ name, grantRequired });
      ids.set(name, projectId);
      return { projectId, isNew: true };
    } catch (error) {
      const { reason, params } = refusalIn(error);
      if (reason !== "PROJECT_NAME_TAKEN" || !params?.projectId) throw error;
      ids.set(name, params.projectId);
      return { projectId: params.projectId, isNew: false };
    }
  }
}
