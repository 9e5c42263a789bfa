import type { Placed } from "./batches.ts";
import type { Clients } from "./client.ts";
import { lost } from "./import_note.ts";
import type { Item } from "./item.ts";
import { isPresent, missingProject, type Outcome, type Outcomes, oneByOne, sendTogether } from "./outcome.ts";
import { reasonsOf } from "./refused.ts";
import type { Target } from "./target.ts";

type GrantItem = Extract<Item, { kind: "grant" }>;

/** Adds grants. A grant with refused roles is sent again without them. */
export async function importGrants(placed: readonly Placed[], target: Target): Promise<Outcomes> {
  const items = placed.flatMap(({ item, notes }) => (item.kind === "grant" ? [{ item, notes }] : []));
  const located = await oneByOne(items, ({ item }) => locate(item, target));
  const known = items.filter((_, n) => located[n] === "made");
  const sent = await sendGrants(
    known.map(({ item }) => item),
    target.clients,
  );
  const answers = sent.values();
  return located.map((outcome) => (outcome === "made" ? (answers.next().value ?? outcome) : outcome));

  async function sendGrants(some: readonly GrantItem[], clients: Clients): Promise<Outcome[]> {
    const outcomes = await addGrants(some, clients);
    const fewer = some.flatMap((item, n) => {
      const refused = refusedRoles(item, outcomes[n]);
      return refused.length === 0 ? [] : { item, n, refused };
    });
    if (fewer.length === 0) return outcomes;
    for (const { item, refused } of fewer)
      item.grant.roleKeys = item.grant.roleKeys.filter((key) => !refused.includes(key));
    const again = await addGrants(
      fewer.map(({ item }) => item),
      clients,
    );
    for (const [at, { item, n, refused }] of fewer.entries()) {
      const outcome = again[at];
      if (isPresent(outcome))
        items
          .find((one) => one.item === item)
          ?.notes.push(...refused.map((key) => lost(`the role ${key}, which was refused`)));
      if (outcome !== undefined) outcomes[n] = outcome;
    }
    return outcomes;
  }
}

/** The roles that are the only reason why a grant was refused; none if no role would remain. */
function refusedRoles({ grant }: GrantItem, outcome: Outcome | undefined): string[] {
  if (outcome === undefined || typeof outcome === "string") return [];
  const places = (outcome.violations ?? []).map(({ field }) => Number(/roleKeys\[(\d+)\]$/.exec(field)?.[1]));
  if (places.length === 0 || places.some(Number.isNaN)) return [];
  const refused = places.flatMap((place) => grant.roleKeys[place] ?? []);
  return refused.length < grant.roleKeys.length ? refused : [];
}

const offered: Outcome = {
  reason: "ACCEPTANCE_REQUIRED",
  message: "the organization of the user has to accept the grant first; it has an invitation",
};

async function locate(item: GrantItem, { projects, users }: Target): Promise<Outcome> {
  const userId = await users.idFor(item);
  if (typeof userId !== "string") return userId;
  item.grant.userId = userId;
  if (item.project === "") return "made";
  const projectId = await projects.idOf(item.project);
  if (projectId === undefined) return missingProject(item.project);
  item.grant.projectId = projectId;
  return "made";
}

const addGrants = (items: readonly GrantItem[], { grants }: Clients): Promise<Outcome[]> =>
  sendTogether(items, async (some) => {
    const answer = await grants.addUserGrants({ items: some.map(({ grant }) => grant) });
    return answer.outcomes.map(({ outcome }): Outcome => {
      if (outcome.case === "added" && outcome.value.invitationId !== undefined) return offered;
      if (outcome.case !== "refused") return "made";
      const reasons = reasonsOf(outcome.value);
      return reasons.reason === "USER_GRANT_EXISTS" ? "there" : reasons;
    });
  });
