import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AddUserGrantOutcomeSchema,
  type AddUserGrantRequest,
  AddUserGrantsRequestSchema,
  type UserGrantService,
} from "../../../gen/postern/v1/user_grant_pb.ts";
import { type Call, type Deps, keys, organizationOf, type Reach, reachOf } from "../../deps.ts";
import { isWithin, maxViolations, reasonOf, type Violation } from "../../errors.ts";
import { first, type NewFact } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { lateRule } from "../../rules.ts";
import { mapInPieces } from "../../security/pieces.ts";
import {
  allEnded,
  malformed,
  type No,
  refuseBatch,
  refusedOutcome,
  violationsByItem,
  violationsOf,
} from "../writing/batch_refusal.ts";
import { type Offer, offering } from "../writing/offer.ts";
import {
  addedFact,
  findingsQuestion,
  type GrantFindings,
  grantAnswer,
  grantOffer,
  lookupKeyOf,
  refusalOf,
  refusedReach,
  type WantedGrant,
  wantedOf,
  wrongInProject,
} from "./add_user_grant.ts";

type ItemOutcome = MessageInitShape<typeof AddUserGrantOutcomeSchema>;

/** An item and its outcome: the fact that adds it, or the reason for refusing it. */
type Decided = PlacedGrant &
  ({ readonly fact: NewFact; readonly no?: undefined } | { readonly no: No; readonly fact?: undefined });

/** A decision, or an offer that is still to be decided. */
type Offering = Decided | (PlacedGrant & { readonly offer: Offer });

/** A grant, and the path of its item in the request. */
type PlacedGrant = { readonly wanted: WantedGrant; readonly path: string };

export const userGrantBatch = (deps: Deps) => {
  const { log, sql, clock, ids } = deps;
  const withOffers = decidingOffers(deps);
  const findingsOfOne = loadOne<ReturnType<typeof lookupKeyOf>, GrantFindings>(sql, findingsQuestion);

  return {
    async addUserGrants({ items: asked, allOrNothing }, call) {
      const items = itemsOf(asked, call, call.values.get(keys.wrongItems));
      const decided = await decide(items, await findingsOfAll(sql, items), call);
      if (allOrNothing) refuseBatch(decided.flatMap(({ no }) => no ?? []));
      const answer = await answerOf(decided, call);
      return log.append(call, factsIn(decided), answer).catch((error: unknown) => {
        // A request with an idempotency key is written together with its record or not at all, and then retried as a whole.
        const keyed = call.values.get(keys.idempotency) !== undefined;
        if (allOrNothing || keyed || reasonOf(error) !== "CONFLICT") throw error;
        return oneByOne(decided, call);
      });
    },
  } satisfies Pick<ServiceImpl<typeof UserGrantService>, "addUserGrants">;

  async function decide(items: readonly Item[], findings: readonly GrantFindings[], call: Call): Promise<Decided[]> {
    const repeated = repeatedIn(items);
    const reach = reachOf(call);
    const decided = await mapInPieces(items, (item, n): Offering => {
      const { wanted, path, wrong } = item;
      const no =
        malformed(wrong.length > 0 ? [...wrong, ...violationsIn(item, findings[n], reach)] : []) ??
        refusedReach(wanted, findings[n], { reach, path }) ??
        repeated[n] ??
        refusalOf(wanted, findings[n], path);
      return no ? { wanted, path, no } : addedOrOffered(item, findings[n], call);
    });
    return withOffers(decided);
  }

  function addedOrOffered({ wanted, path }: PlacedGrant, found: GrantFindings | undefined, call: Call): Offering {
    const offer = found && grantOffer(wanted, found, { call, path });
    if (offer) return { wanted, path, offer };
    return { wanted, path, fact: addedFact(first(wanted.owner, ids(), clock()), wanted) };
  }

  /** Adds each item separately, after one of them lost a race. */
  async function oneByOne(decided: readonly Decided[], call: Call) {
    const settled = await allEnded(decided.map((item) => (item.no ? item : addAlone(item, call))));
    return log.append(call, [], await answerOf(settled, call));
  }

  async function addAlone(item: Decided, call: Call): Promise<Decided> {
    const { wanted, path } = item;
    for (let tries = 5; ; tries--) {
      const found = await findingsOfOne(lookupKeyOf(wanted), call.signal);
      const no = refusalOf(wanted, found, path);
      const [again] = await withOffers([no ? { wanted, path, no } : addedOrOffered(item, found, call)]);
      if (!again?.fact) return again ?? item;
      try {
        return await log.append(call, [again.fact], again);
      } catch (error) {
        if (reasonOf(error) !== "CONFLICT") throw error;
        if (tries === 1) return { wanted, path, no: { reason: "CONFLICT", field: itemOf(path) } };
      }
    }
  }
};

/** Makes the decision about the offers of a request, which count towards a limit together. */
function decidingOffers(deps: Deps) {
  const decide = offering(deps);
  return async (items: readonly Offering[]): Promise<Decided[]> => {
    const offers = items.flatMap((item) => ("offer" in item ? item.offer : []));
    const decided = (await decide(offers)).values();
    return items.map((item): Decided => {
      if (!("offer" in item)) return item;
      const one = decided.next().value;
      if (!one) throw new Error("an offer was not decided");
      return { wanted: item.wanted, path: item.path, ...one };
    });
  };
}

/** Late rules of requests to add many grants: with `allOrNothing`, any invalid item fails the whole request. */
export function userGrantBatchLateRules({ sql }: Pick<Deps, "sql">) {
  return [
    lateRule(AddUserGrantsRequestSchema, [], async ({ items, allOrNothing }, call: Call, wrong) => {
      // Otherwise each item has an outcome of its own. A list that is too long is not checked.
      if (!allOrNothing || wrong.some(({ field }) => field === "items")) return [];
      const known = itemsOf(items, call, wrong);
      const findings = await findingsOfAll(sql, known);
      const found = await mapInPieces(known, (item, n) => violationsIn(item, findings[n], reachOf(call)));
      return found.flat();
    }),
  ];
}

/** An item with its path and its field violations, its invalid fields removed. */
type Item = {
  readonly wanted: WantedGrant;
  readonly path: string;
  readonly wrong: readonly Violation[];
  readonly hasProject: boolean;
  readonly hasUser: boolean;
};

function itemsOf(requests: readonly AddUserGrantRequest[], call: Call, found: readonly Violation[]): Item[] {
  const wrongIn = violationsByItem(found);
  return requests.map((request, n) => {
    const path = `items[${n}].`;
    return soundItem(wantedOf(organizationOf(call), request), path, wrongIn(path));
  });
}

function soundItem(wanted: WantedGrant, path: string, wrong: readonly Violation[]): Item {
  // A validation that stopped early has not seen every field.
  const isWrong = (...names: string[]) =>
    wrong.length >= maxViolations || wrong.some(({ field }) => names.some((name) => isWithin(field, `${path}${name}`)));
  const [hasUser, hasProject] = [!isWrong("userId"), !isWrong("projectId", "projectGrantId")];
  const sound = {
    ...wanted,
    userId: hasUser ? wanted.userId : "",
    projectId: hasProject ? wanted.projectId : "",
    projectGrantId: hasProject ? wanted.projectGrantId : "",
    roleKeys: isWrong("roleKeys") ? [] : wanted.roleKeys,
  };
  return { wanted: sound, path, wrong, hasProject, hasUser };
}

/** Finds the violations of an item that only the database reveals; its user or project may already be invalid. */
function violationsIn(
  { wanted, path, hasProject, hasUser }: Item,
  findings: GrantFindings | undefined,
  reach: Reach,
): readonly Violation[] {
  if (!hasProject) return [];
  const beyond = refusedReach(wanted, findings, { reach, path });
  if (!beyond && !hasUser) return wrongInProject(wanted, findings, path);
  const no = beyond ?? refusalOf(wanted, findings, path);
  return no ? violationsOf(no) : [];
}

/** Reads the state of each item in a separate statement: a thousand items would delay other callers of the shared one. */
async function findingsOfAll(sql: Sql, items: readonly Item[]): Promise<GrantFindings[]> {
  const asked = JSON.stringify(items.map(({ wanted }, n) => ({ n, ...lookupKeyOf(wanted) })));
  return await sql<GrantFindings[]>`
    with asked as materialized (
      select * from jsonb_to_recordset(${asked}::text::jsonb) as asked (n integer, ${sql.unsafe(findingsQuestion.asked)})
    )
    ${sql.unsafe(findingsQuestion.select)} order by n`;
}

// Streams are written in the order of their names, so that two batches cannot deadlock.
const factsIn = (decided: readonly Decided[]): NewFact[] =>
  decided
    .flatMap(({ fact, wanted }) => (fact ? [{ fact, name: nameOf(wanted) }] : []))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ fact }) => fact);

async function answerOf(decided: readonly Decided[], call: Call) {
  const refused = refusedOutcome(call);
  return { outcomes: await mapInPieces(decided, ({ fact, no }) => (fact ? added(fact) : refused(no))) };
}

const added = (fact: NewFact): ItemOutcome => ({ outcome: { case: "added", value: grantAnswer(fact) } });

/** Finds the items that repeat an earlier one; an item without user or project repeats nothing. */
function repeatedIn(items: readonly Item[]): (No | undefined)[] {
  const seen = new Map<string, number>();
  return items.map(({ wanted, hasUser, hasProject }, n) => {
    if (!hasUser || !hasProject) return undefined;
    const before = seen.get(nameOf(wanted));
    if (before === undefined) seen.set(nameOf(wanted), n);
    return before === undefined ? undefined : repeats(`items[${n}]`, `items[${before}]`);
  });
}

function repeats(field: string, before: string): No {
  const violations: Violation[] = [{ field, text: "ITEM_LIKE", params: { other: before }, reason: "REPEATED" }];
  return { reason: "VALIDATION_FAILED", field, params: { fields: field }, violations };
}

const nameOf = ({ userId, projectId, projectGrantId }: WantedGrant): string =>
  JSON.stringify([userId, projectId, projectGrantId]);

const itemOf = (path: string): string => path.replace(/\.$/, "");
