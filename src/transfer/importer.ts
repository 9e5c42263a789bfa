import { type Batch, batchesOf, type Placed } from "./batches.ts";
import type { Clients } from "./client.ts";
import { type Item, ItemMalformed, itemOf } from "./item.ts";
import { madeOrThere, type Outcome, type Outcomes, refusalIn, sendTogether } from "./outcome.ts";
import { type Projects, projectsOf } from "./projects.ts";
import { type Reasons, type RefusedFile, reasonsOf } from "./refused.ts";
import type { SourceItem } from "./source.ts";
import { type Users, usersOf } from "./users.ts";

/** How many items were made, were there already, and were refused. */
export type Counts = { made: number; there: number; refused: number };

/** Options of an import. */
export type ImportOptions = {
  readonly clients: Clients;
  readonly source: AsyncIterable<SourceItem>;
  readonly refused: RefusedFile;
  /** Called after each item that was read and each batch that was done, with the bytes read so far. */
  readonly onProgress: (bytes: number, counts: Counts) => void;
  /** When it is aborted, nothing more is read, and what is under way is done. */
  readonly signal: AbortSignal;
};

const atOnce = 4;

/** Imports items in their order, batches of one kind side by side. */
export async function importItems(options: ImportOptions): Promise<Counts> {
  const { clients, refused, onProgress } = options;
  const counts: Counts = { made: 0, there: 0, refused: 0 };
  const progress = { bytes: 0 };
  const target = { clients, projects: projectsOf(clients), users: usersOf(clients) };
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let kind: Item["kind"] | undefined;
  for await (const batch of batchesOf(readItems(options, counts, progress))) {
    while (underWay.size >= (kind === batch.kind ? atOnce : 1)) await Promise.race(underWay);
    if (failures.length > 0) break;
    kind = batch.kind;
    const work: Promise<void> = run(batch)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(work));
    underWay.add(work);
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
  return counts;

  async function run({ kind, items }: Batch): Promise<void> {
    const outcomes = await outcomesOf(kind, items, target);
    for (const [n, { at, json }] of items.entries()) {
      const outcome = outcomes[n];
      if (outcome === "made" || outcome === "there") counts[outcome] += 1;
      else {
        counts.refused += 1;
        await refused.write(at, outcome ?? { message: "got no answer" }, json);
      }
    }
    onProgress(progress.bytes, counts);
  }
}

async function* readItems(
  { source, clients, refused, onProgress, signal }: ImportOptions,
  counts: Counts,
  progress: { bytes: number },
): AsyncGenerator<Placed> {
  for await (const { at, json, fault, end } of source) {
    if (signal.aborted) return;
    progress.bytes = end;
    const item = fault === undefined ? readItem(json, clients.organization) : new ItemMalformed(fault);
    if (item instanceof ItemMalformed) {
      counts.refused += 1;
      await refused.write(at, { message: item.message }, json);
    } else yield { at, json, item };
    onProgress(end, counts);
  }
}

function readItem(json: unknown, organization: string): Item | ItemMalformed {
  try {
    return itemOf(json, organization);
  } catch (error) {
    if (error instanceof ItemMalformed) return error;
    throw error;
  }
}

type Target = { readonly clients: Clients; readonly projects: Projects; readonly users: Users };

function outcomesOf(kind: Item["kind"], items: readonly Placed[], target: Target): Promise<Outcomes> {
  switch (kind) {
    case "user":
      return importUsers(itemsOf(items, "user"), target);
    case "grant":
      return importGrants(itemsOf(items, "grant"), target);
    case "project":
      return oneByOne(itemsOf(items, "project"), (item) => importProject(item, target));
    case "application":
      return oneByOne(itemsOf(items, "application"), (item) => importApplication(item, target));
    case "apiApplication":
      return oneByOne(itemsOf(items, "apiApplication"), (item) => importApiApplication(item, target));
  }
}

type ItemOf<K extends Item["kind"]> = Extract<Item, { kind: K }>;

const itemsOf = <K extends Item["kind"]>(items: readonly Placed[], kind: K): ItemOf<K>[] =>
  items.flatMap(({ item }) => (item.kind === kind ? (item as ItemOf<K>) : []));

async function oneByOne<I>(items: readonly I[], make: (item: I) => Promise<Outcome>): Promise<Outcomes> {
  const outcomes: Outcome[] = [];
  for (const item of items) outcomes.push(await make(item));
  return outcomes;
}

/** Creates users; one who has the name under the id of the item is there from an earlier run. */
async function importUsers(items: readonly ItemOf<"user">[], target: Target): Promise<Outcomes> {
  const { users, organization } = target.clients;
  const outcomes = await sendTogether(items, async (sent) => {
    const answer = await users.createUsers({ items: sent.map(({ user }) => user) });
    return answer.outcomes.map(({ outcome }, n): Outcome => {
      if (outcome.case !== "refused") return "made";
      const reasons = reasonsOf(outcome.value);
      return isThere(reasons, sent[n]?.userId, organization) ? "there" : reasons;
    });
  });
  for (const [n, { userId }] of items.entries()) target.users.note(userId, outcomes[n]);
  const inactive = items.flatMap(({ inactive, userId }, n) =>
    inactive && isPresent(outcomes[n]) ? { userId, n } : [],
  );
  for (const { userId, n } of inactive)
    await users.deactivateUser({ userId }).catch((error: unknown) => {
      outcomes[n] = refusalIn(error);
    });
  return outcomes;
}

// Somebody of another organization may have taken both name and id.
const isThere = ({ reason, params }: Reasons, userId: string | undefined, organization: string): boolean =>
  reason === "LOGIN_NAME_TAKEN" && params?.userId === userId && params?.organizationId === organization;

const isPresent = (outcome: Outcome | undefined): boolean => outcome === "made" || outcome === "there";

async function importGrants(
  items: readonly ItemOf<"grant">[],
  { clients: { grants }, projects, users }: Target,
): Promise<Outcomes> {
  const located = await oneByOne(items, async (item): Promise<Outcome> => {
    const userId = await users.idFor(item);
    if (typeof userId !== "string") return userId;
    item.grant.userId = userId;
    if (item.project === "") return "made";
    const projectId = await projects.idOf(item.project);
    if (projectId === undefined) return missing(item.project);
    item.grant.projectId = projectId;
    return "made";
  });
  const known = items.filter((_, n) => located[n] === "made");
  const sent = await sendTogether(known, async (some) => {
    const answer = await grants.addUserGrants({ items: some.map(({ grant }) => grant) });
    return answer.outcomes.map(({ outcome }): Outcome => {
      if (outcome.case !== "refused") return "made";
      const reasons = reasonsOf(outcome.value);
      return reasons.reason === "USER_GRANT_EXISTS" ? "there" : reasons;
    });
  });
  const answers = sent.values();
  return located.map((outcome) => (outcome === "made" ? (answers.next().value ?? outcome) : outcome));
}

const missing = (project: string): Reasons => ({
  reason: "PROJECT_NOT_FOUND",
  message: `there is no project ${JSON.stringify(project)}`,
});

async function importProject({ project, roles }: ItemOf<"project">, { clients, projects }: Target): Promise<Outcome> {
  try {
    const { projectId, isNew } = await projects.create(project);
    let isChanged = isNew;
    const refused: Reasons[] = [];
    for (const role of roles) {
      const outcome = await madeOrThere(() => clients.projects.addProjectRole({ projectId, ...role }), "ROLE_TAKEN");
      if (typeof outcome !== "string") refused.push(ofRole(outcome, role.key));
      isChanged ||= outcome === "made";
    }
    const [first] = refused;
    if (first) return { ...first, message: refused.map(({ message }) => message).join("; ") };
    return isChanged ? "made" : "there";
  } catch (error) {
    return refusalIn(error);
  }
}

const ofRole = (reasons: Reasons, key: string): Reasons => ({
  ...reasons,
  message: `role ${JSON.stringify(key)}: ${reasons.message}`,
});

async function importApplication(
  { project, application }: ItemOf<"application">,
  { clients: { applications }, projects }: Target,
): Promise<Outcome> {
  const projectId = project === "" ? application.projectId : await projects.idOf(project);
  if (projectId === undefined) return missing(project);
  return madeOrThere(() => applications.createOidcApplication({ ...application, projectId }), "APPLICATION_NAME_TAKEN");
}

async function importApiApplication(
  { project, application }: ItemOf<"apiApplication">,
  { clients: { applications }, projects }: Target,
): Promise<Outcome> {
  const projectId = project === "" ? application.projectId : await projects.idOf(project);
  if (projectId === undefined) return missing(project);
  return madeOrThere(() => applications.createApiApplication({ ...application, projectId }), "APPLICATION_NAME_TAKEN");
}
