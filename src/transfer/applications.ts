import type { Placed } from "./batches.ts";
import type { Clients } from "./client.ts";
import { changed, lost } from "./import_note.ts";
import type { Item } from "./item.ts";
import { missingProject, type Outcome, refusalIn } from "./outcome.ts";
import type { Target } from "./target.ts";

type ApplicationItem = Extract<Item, { kind: "application" | "apiApplication" }>;
type Place = { readonly projectId: string; readonly appId: string };

/** Creates an application with its key. A disabled application is deactivated immediately, even if an earlier run created it. */
export async function importApplication({ item, notes }: Placed, { clients, projects }: Target): Promise<Outcome> {
  if (item.kind !== "application" && item.kind !== "apiApplication") throw new Error("no application");
  const { project, application, inactive, key } = item;
  const projectId = project === "" ? application.projectId : await projects.idOf(project);
  if (projectId === undefined) return missingProject(project);
  try {
    const made = await created(item, projectId, clients);
    if (made?.clientSecret !== undefined) notes.push(lost("its client secret; RotateClientSecret creates a new one"));
    for (const { localizedMessage } of made?.problems ?? [])
      notes.push(changed(`it was imported with a problem: ${localizedMessage}`));
    const place = made ? { projectId, appId: made.appId } : await found(item, projectId, clients);
    if (place && inactive) await clients.applications.deactivateApplication(place);
    if (made && place && key) await clients.applications.addApplicationKey({ ...key, ...place });
    return made ? "made" : "there";
  } catch (error) {
    return refusalIn(error);
  }
}

/** Creates an application; undefined if it already exists. */
async function created(item: ApplicationItem, projectId: string, { applications }: Clients) {
  try {
    if (item.kind === "apiApplication")
      return { problems: [], ...(await applications.createApiApplication({ ...item.application, projectId })) };
    const { complianceProblems: problems, ...made } = await applications.createOidcApplication({
      ...item.application,
      projectId,
    });
    return { problems, ...made };
  } catch (error) {
    if (refusalIn(error).reason === "APPLICATION_NAME_TAKEN") return undefined;
    throw error;
  }
}

async function found({ application }: ApplicationItem, projectId: string, { applications }: Clients) {
  const list = await applications.listApplications({ projectId, filter: { name: application.name }, pageSize: 1 });
  const [first] = list.applications;
  return first && ({ projectId, appId: first.id } satisfies Place);
}
