import { importApplication } from "./applications.ts";
import { type Batch, batchesOf, type Placed } from "./batches.ts";
import type { Clients } from "./client.ts";
import { importGrants } from "./grants.ts";
import { type Item, ItemMalformed, itemOf } from "./item.ts";
import { isPresent, madeOrThere, type Outcome, type Outcomes, oneByOne, refusalIn, sendTogether } from "./outcome.ts";
import { projectsOf } from "./projects.ts";
import type { NotesFile } from "./refused.ts";
import { type Reasons, type RefusedFile, reasonsOf } from "./refused.ts";
import type { Report } from "./report.ts";
import type { SourceItem } from "./source.ts";
import type { Target } from "./target.ts";
import { usersOf } from "./users.ts";

/** The numbers of items that were created, existed already, and were refused. */
export type Counts = { made: number; there: number; refused: number };

export type ImportOptions = {
  readonly clients: Clients;
  readonly source: AsyncIterable<SourceItem>;
  readonly refused: RefusedFile;
  readonly report: Report;
  /** The file for items changed or lost in the transfer. */
  readonly notes: NotesFile;
  /** Called after each item read and each batch done, with the bytes read so far. */
  readonly onProgress: (bytes: number, counts: Counts) => void;
  /** On abort, nothing more is read, and running requests finish. */
  readonly signal: AbortSignal;
};

const atOnce = 4;

/** Imports items in order, with batches of one kind in parallel. */
export async function importItems(options: ImportOptions): Promise<Counts> {
  const { clients, refused, report, notes: noted, onProgress } = options;
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
    for (const [n, { at, json, notes }] of items.entries()) {
      const outcome = outcomes[n] ?? { message: "got no response" };
      const isHere = isPresent(outcome);
      report.count(kind, outcome, isHere ? notes : []);
      if (isHere) await noted.write(at, kind, notes);
      if (outcome === "made" || outcome === "there") counts[outcome] += 1;
      else {
        counts.refused += 1;
        await refused.write(at, outcome, json);
      }
    }
    onProgress(progress.bytes, counts);
  }
}

async function* readItems(
  { source, clients, refused, report, notes: noted, onProgress, signal }: ImportOptions,
  counts: Counts,
  progress: { bytes: number },
): AsyncGenerator<Placed> {
  for await (const { at, json, fault, end, kind, notes = [] } of source) {
    if (signal.aborted) return;
    progress.bytes = end;
    if (json === undefined && fault === undefined && kind !== undefined) {
      report.count(kind, undefined, notes);
      await noted.write(at, kind, notes);
      continue;
    }
    const item = fault === undefined ? readItem(json, clients.organization) : new ItemMalformed(fault);
    if (item instanceof ItemMalformed) {
      counts.refused += 1;
      await refused.write(at, { message: item.message }, json);
    } else yield { at, json, item, notes: [...notes] };
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

function outcomesOf(kind: Item["kind"], items: readonly Placed[], target: Target): Promise<Outcomes> {
  switch (kind) {
    case "user":
      return importUsers(itemsOf(items, "user"), target);
    case "grant":
      return importGrants(items, target);
    case "project":
      return oneByOne(itemsOf(items, "project"), (item) => importProject(item, target));
    case "application":
    case "apiApplication":
      return oneByOne(items, (placed) => importApplication(placed, target));
  }
}

type ItemOf<K extends Item["kind"]> = Extract<Item, { kind: K }>;

const itemsOf = <K extends Item["kind"]>(items: readonly Placed[], kind: K): ItemOf<K>[] =>
  items.flatMap(({ item }) => (item.kind === kind ? (item as ItemOf<K>) : []));

/**
 * Creates users. A user who has both the name and the item's id exists from an earlier run, and is deactivated if the file now says so. New
 * users are inactive from the start if the file says so.
 */
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
  await setMetadata(items, outcomes, target);
  const stillActive = items.flatMap(({ inactive, userId }, n) =>
    inactive && outcomes[n] === "there" ? { userId, n } : [],
  );
  for (const { userId, n } of stillActive)
    await users.deactivateUser({ userId }).catch((error: unknown) => {
      outcomes[n] = refusalIn(error);
    });
  return outcomes;
}

const metadataAtOnce = 8;

/** Sets the metadata of users who exist now. A user whose metadata is refused stays, and is among the refused. */
async function setMetadata(items: readonly ItemOf<"user">[], outcomes: Outcome[], { clients }: Target): Promise<void> {
  const all = items.flatMap(({ userId, metadata }, n) =>
    metadata.length > 0 && isPresent(outcomes[n] ?? { message: "" }) ? [{ userId, entries: [...metadata], n }] : [],
  );
  for (let at = 0; at < all.length; at += metadataAtOnce) {
    const calls = all.slice(at, at + metadataAtOnce).map(async ({ n, ...request }) => {
      await clients.users.setUserMetadata(request).catch((error: unknown) => {
        outcomes[n] = refusalIn(error);
      });
    });
    await Promise.all(calls);
  }
}

// Name and id may both be taken by a user of another organization.
const isThere = ({ reason, params }: Reasons, userId: string | undefined, organization: string): boolean =>
  reason === "LOGIN_NAME_TAKEN" && params?.userId === userId && params?.organizationId === organization;

async function importProject({ project, roles }: ItemOf<"project">, { clients, projects }: Target): Promise<Outcome> {
  try {
    const { projectId, isNew } = await projects.create(project);
    let isChanged = isNew;
    const refused: Reasons[] = [];
    for (const role of roles) {
      const outcome = await madeOrThere(
        () => clients.projects.addProjectRole({ projectId, ...role }),
        ({ reason, params }) => reason === "ROLE_TAKEN" && params?.name === role.key,
      );
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
