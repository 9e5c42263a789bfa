import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CreateUserOutcomeSchema,
  type CreateUsersItem,
  type CreateUsersRequest,
  CreateUsersRequestSchema,
  type UserService,
} from "../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, keys, organizationOf } from "../deps.ts";
import { lateRule, messageRule, reasonOf, type Violation } from "../errors.ts";
import { detailsAfter, type NewFact } from "../events/fact.ts";
import { errorText } from "../messages/catalogue.ts";
import type { Sql } from "../postgres/connect.ts";
import { allEnded, type No, refuseBatch, refusedOutcome, violationsByItem, violationsOf } from "./batch_refusal.ts";
import {
  createdFact,
  isHuman,
  lookupKeyOf,
  type NewUserFindings,
  type NewUserRequest,
  newUserQuestion,
  newUsers,
  withoutWrong,
  wrongInUser,
} from "./new_user.ts";
import { loginNameOf } from "./password.ts";
import type { PhoneSettings } from "./phone_code.ts";
import { e164, notAPhone } from "./phone_number.ts";

/** An item with the path to it and the state that decides about it. */
type Item = { readonly request: NewUserRequest; readonly path: string };

/** An item and its outcome: the fact that creates it, or the reason why it is refused. */
type Decided = Item &
  ({ readonly fact: NewFact; readonly no?: undefined } | { readonly no: No; readonly fact?: undefined });

type ItemOutcome = MessageInitShape<typeof CreateUserOutcomeSchema>;

/** Creates many users at once. */
export const userBatch = (deps: Deps, settings: PhoneSettings) => {
  const { log, sql } = deps;
  const { findings, refusal, place, credentials } = newUsers(deps);

  return {
    async createUsers(request, call) {
      const { allOrNothing } = request;
      const items = itemsOf(request);
      const decided = await decideAll(items, await findingsOfAll(sql, organizationOf(call), items), call);
      if (allOrNothing) refuseBatch(decided.flatMap(({ no }) => no ?? []));
      return log.append(call, factsIn(decided), answerOf(decided, call)).catch((error: unknown) => {
        // A request with a key is written together with its record or not at all, and then runs again as a whole.
        const keyed = call.values.get(keys.idempotency) !== undefined;
        if (allOrNothing || keyed || reasonOf(error) !== "CONFLICT") throw error;
        return oneByOne(decided, call);
      });
    },
  } satisfies Pick<ServiceImpl<typeof UserService>, "createUsers">;

  /** Decides about every item before a password is hashed. */
  async function decideAll(items: readonly Item[], found: readonly NewUserFindings[], call: Call): Promise<Decided[]> {
    const nos = nosOf(items, found, (request, findings, path) => refusal(request, findings, { call, path }));
    const decided: Decided[] = [];
    for (const [n, item] of items.entries()) {
      const [no, findings] = [nos[n], found[n]];
      if (!findings) throw new Error("policies are always in force");
      decided.push(no ? { ...item, no } : { ...item, fact: await factFor(item.request, findings, call) });
    }
    return decided;
  }

  // One hash at a time: a batch takes one place in the queue, and sign-ins the others.
  async function factFor(request: NewUserRequest, findings: NewUserFindings, call: Call): Promise<NewFact> {
    const secret = await credentials(request, findings, call.signal);
    const typed = isHuman(request) ? request.phone : "";
    const phone = typed === "" ? undefined : e164(typed, settings.phoneDefaultRegion);
    return createdFact(place(request, call), request, { phone, ...(secret ? { secret } : {}) });
  }

  /** Creates each item by itself, after one of them lost a race. */
  async function oneByOne(decided: readonly Decided[], call: Call) {
    const settled = await allEnded(decided.map((item) => (item.no ? item : createAlone(item, call))));
    return log.append(call, [], answerOf(settled, call));
  }

  async function createAlone(item: Decided & { readonly fact: NewFact }, call: Call): Promise<Decided> {
    const { request, path, fact } = item;
    for (let tries = 5; ; tries--) {
      const no = refusal(request, await findings(request, call), { call, path });
      if (no) return { request, path, no };
      try {
        return await log.append(call, [fact], item);
      } catch (error) {
        if (reasonOf(error) !== "CONFLICT") throw error;
        if (tries === 1) return { request, path, no: { reason: "CONFLICT", field: path.replace(/\.$/, "") } };
      }
    }
  }
};

/** Late rules of requests for many new users: all or nothing is refused for whatever is wrong with any of them. */
export function userBatchLateRules(deps: Pick<Deps, "sql" | "ids" | "clock" | "secrets">) {
  const { refusal } = newUsers(deps);
  return [
    lateRule(CreateUsersRequestSchema, [], async (request, call: Call, wrong) => {
      // Else each item has an outcome of its own. A list that is too long is not looked at.
      if (!request.allOrNothing || wrong.some(({ field }) => field === "items")) return [];
      const wrongIn = violationsByItem(wrong);
      const items = knownItems(request).map(({ request, path }) => ({
        request: withoutWrong(request, wrongIn(path), path),
        path,
      }));
      const found = await findingsOfAll(deps.sql, organizationOf(call), items);
      const refused = nosOf(items, found, (one, findings, path) => refusal(one, findings, { call, path }));
      return refused.flatMap((no) => (no ? violationsOf(no) : []));
    }),
  ];
}

type Refusal = (request: NewUserRequest, findings: NewUserFindings, path: string) => No | undefined;

/** Finds the reason why each item is refused: it repeats an earlier one, or cannot be created. */
function nosOf(items: readonly Item[], found: readonly NewUserFindings[], refusal: Refusal): (No | undefined)[] {
  const repeated = repeatedIn(items);
  return items.map(({ request, path }, n) => {
    const findings = found[n];
    return repeated[n] ?? (findings && refusal(request, findings, path));
  });
}

/** Cross-field rules of requests for many new users: those of each item, and of all together. */
export const userBatchRules = (settings: PhoneSettings) => [
  messageRule(CreateUsersRequestSchema, ({ items }) => [
    ...items.flatMap((item, n) => wrongInItem(item, n, settings)),
    ...tooManyPasswords(items),
  ]),
];

function wrongInItem({ kind }: CreateUsersItem, n: number, { phoneDefaultRegion }: PhoneSettings): Violation[] {
  if (kind.case === undefined)
    return [{ field: `items[${n}]`, description: errorText("FIELD_REQUIRED"), reason: "REQUIRED" }];
  const { case: name, value } = kind;
  const phone = isHuman(value) ? value.phone : "";
  const wrong = phone === "" || e164(phone, phoneDefaultRegion) ? [] : [notAPhone];
  return [...wrongInUser(value), ...wrong].map((one) => ({ ...one, field: `items[${n}].${name}.${one.field}` }));
}

const mostPasswords = 50;

function tooManyPasswords(items: readonly CreateUsersItem[]): Violation[] {
  const fields = items.flatMap(({ kind }, n) =>
    kind.case === "human" && kind.value.password !== undefined ? `items[${n}].human.password` : [],
  );
  const description = errorText("TOO_MANY_PASSWORDS", { most: mostPasswords });
  return fields.slice(mostPasswords).map((field) => ({ field, description, reason: "TOO_MANY_PASSWORDS" }));
}

function itemsOf(request: CreateUsersRequest): Item[] {
  const items = knownItems(request);
  if (items.length < request.items.length) throw new Error("an item without a kind passed its rule");
  return items;
}

const knownItems = ({ items }: CreateUsersRequest): Item[] =>
  items.flatMap(({ kind }, n) =>
    kind.case === undefined ? [] : [{ request: kind.value, path: `items[${n}].${kind.case}.` }],
  );

/** Reads the state for every item in a statement of its own: hundreds of items would hold up the shared ones. */
async function findingsOfAll(sql: Sql, owner: string, items: readonly Item[]): Promise<NewUserFindings[]> {
  const asked = JSON.stringify(items.map(({ request }, n) => ({ n, ...lookupKeyOf(owner, request) })));
  return await sql<NewUserFindings[]>`
    with asked as materialized (
      select * from jsonb_to_recordset(${asked}::text::jsonb) as asked (n integer, ${sql.unsafe(newUserQuestion.asked)})
    )
    ${sql.unsafe(newUserQuestion.select)} order by n`;
}

// Names are written in their order, so that two batches never wait for each other.
const factsIn = (decided: readonly Decided[]): NewFact[] =>
  decided
    .flatMap(({ request, fact }) => (fact ? [{ name: loginNameOf(request.username), fact }] : []))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ fact }) => fact);

function answerOf(decided: readonly Decided[], call: Call) {
  const refused = refusedOutcome(call);
  return { outcomes: decided.map(({ fact, no }) => (fact ? created(fact) : refused(no))) };
}

const created = ({ at }: NewFact): ItemOutcome => ({
  outcome: { case: "created", value: { userId: at.stream, details: detailsAfter(at) } },
});

/** Finds the items that repeat the login name or the id of an earlier one. */
function repeatedIn(items: readonly Item[]): (No | undefined)[] {
  const repeatsName = repeats(({ username }) => loginNameOf(username) || undefined, "username");
  const repeatsId = repeats(({ userId }) => userId, "userId");
  return items.map((item) => {
    const [name, id] = [repeatsName(item), repeatsId(item)];
    return name ?? id;
  });
}

function repeats(named: (request: NewUserRequest) => string | undefined, name: string) {
  const seen = new Map<string, string>();
  return ({ request, path }: Item): No | undefined => {
    const [value, field] = [named(request), `${path}${name}`];
    if (value === undefined) return undefined;
    const other = seen.get(value);
    if (other === undefined) seen.set(value, field);
    return other === undefined ? undefined : repeated(field, other);
  };
}

function repeated(field: string, other: string): No {
  const violations = [{ field, description: errorText("ITEM_REPEATED", { other }), reason: "REPEATED" }];
  return { reason: "VALIDATION_FAILED", field, params: { fields: field }, violations };
}
