import { create as createMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateMachineUserRequestSchema,
  type CreateUserOutcomeSchema,
  type CreateUsersItem,
  type CreateUsersRequest,
  CreateUsersRequestSchema,
  type UserService,
} from "../../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, keys, organizationOf } from "../../deps.ts";
import { type OfAllItems, reasonOf, type Violation } from "../../errors.ts";
import { type At, detailsAfter, type NewFact } from "../../events/fact.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { itemsRule, lateRule } from "../../rules.ts";
import { mapInPieces, pause } from "../../security/pieces.ts";
import { loginNameOf } from "../callers/login_name.ts";
import { placeOf } from "../passwords/password.ts";
import type { MailSettings } from "../verification/mail.ts";
import type { PhoneSettings } from "../verification/phone_code.ts";
import { e164, notAPhone } from "../verification/phone_number.ts";
import {
  allEnded,
  malformed,
  type No,
  refuseBatch,
  refusedOutcome,
  violationsByItem,
  violationsOf,
} from "../writing/batch_refusal.ts";
import {
  addresseeOf,
  createdFact,
  isHuman,
  lookupKeyOf,
  type NewUserExtras,
  type NewUserFindings,
  type NewUserRequest,
  newUserQuestion,
  newUsers,
  totpFacts,
  withoutWrong,
  wrongInUser,
} from "./new_user.ts";
import { type NewUserMail, newUserMails } from "./new_user_mail.ts";

/** An item with its path and its violations; invalid fields are removed from the request. */
type Item = { readonly request: NewUserRequest; readonly path: string; readonly wrong: readonly Violation[] };

/** An item that can be created: the position of its fact, and what the fact carries. */
type Creatable = Item & { readonly at: At; readonly extras: NewUserExtras; readonly no?: undefined };

/** An item and its outcome: the user it creates, or the reason for refusing it. */
type Decided = Creatable | (Item & { readonly no: No; readonly at?: undefined });

type ItemOutcome = MessageInitShape<typeof CreateUserOutcomeSchema>;

export const userBatch = (deps: Deps, settings: PhoneSettings & MailSettings) => {
  const { log, sql } = deps;
  const mails = newUserMails(deps, settings);
  const { findings, refusal, place, credentials } = newUsers(deps);

  return {
    async createUsers(request, call) {
      const { allOrNothing, sendEmailCodes } = request;
      const items = itemsOf(request, call.values.get(keys.wrongItems));
      const decided = await decideAll(items, await findingsOfAll(sql, organizationOf(call), items), call);
      if (allOrNothing) refuseBatch(decided.flatMap(({ no }) => no ?? []));
      const facts = await factsOf(decided, sendEmailCodes, call);
      const answer = await answerOf(decided, call);
      return log.append(call, facts, answer).catch((error: unknown) => {
        // A request with an idempotency key is written together with its record or not at all, and then retried as a whole.
        const keyed = call.values.get(keys.idempotency) !== undefined;
        if (allOrNothing || keyed || reasonOf(error) !== "CONFLICT") throw error;
        return oneByOne(decided, sendEmailCodes, call);
      });
    },
  } satisfies Pick<ServiceImpl<typeof UserService>, "createUsers">;

  /** Decides about every item before hashing any password. */
  async function decideAll(items: readonly Item[], found: readonly NewUserFindings[], call: Call): Promise<Decided[]> {
    const nos = await nosOf(items, found, (request, findings, path) => refusal(request, findings, { call, path }));
    const decided: Decided[] = [];
    for (const [n, item] of items.entries()) {
      const [no, findings] = [nos[n], found[n]];
      if (!findings) throw new Error("policies are always in force");
      decided.push(no ? { ...item, no } : { ...item, ...(await creatable(item.request, findings, call)) });
      await pause();
    }
    return decided;
  }

  // One hash at a time: a batch takes one slot in the queue and leaves the others to sign-ins.
  async function creatable(request: NewUserRequest, findings: NewUserFindings, call: Call) {
    const secret = await credentials(request, findings, placeOf(call));
    const extras = { phone: phoneOf(request, settings), ...(secret && { secret }) };
    return placedBy({ at: place(request, call), extras }, findings);
  }

  // Names are written in order, so that two batches cannot deadlock.
  async function factsOf(decided: readonly Decided[], isMailed: boolean, call: Call): Promise<NewFact[]> {
    const items = decided.filter((item) => !item.no);
    const found = isMailed ? await mails.ofAll(items.map(addressed), call) : [];
    const named = await mapInPieces(items, (item, n) => ({
      name: loginNameOf(item.request.username),
      facts: factsIn(item, found[n], deps),
    }));
    return named.sort((one, other) => (one.name < other.name ? -1 : 1)).flatMap(({ facts }) => facts);
  }

  /** Creates each item separately, after one of them lost a race. */
  async function oneByOne(decided: readonly Decided[], isMailed: boolean, call: Call) {
    const settled = await allEnded(decided.map((item) => (item.no ? item : createAlone(item, isMailed, call))));
    return log.append(call, [], await answerOf(settled, call));
  }

  async function createAlone(item: Creatable, isMailed: boolean, call: Call): Promise<Decided> {
    const { request, path, wrong } = item;
    const addressee = isMailed ? addressed(item) : undefined;
    for (let tries = 5; ; tries--) {
      const found = await findings(request, call);
      const no = refusal(request, found, { call, path });
      if (no) return { request, path, wrong, no };
      const append = (mail?: NewUserMail) => log.append(call, factsIn(placedBy(item, found), mail, deps), item);
      try {
        return await (addressee ? mails.appended(addressee, call, append) : append());
      } catch (error) {
        if (reasonOf(error) !== "CONFLICT") throw error;
        if (tries === 1) return { request, path, wrong, no: { reason: "CONFLICT", field: path.replace(/\.$/, "") } };
      }
    }
  }
};

/** The item, with its login name in the directory or as the organization's own. */
const placedBy = <T extends Pick<Creatable, "extras">>(item: T, { ownLoginNames }: NewUserFindings) => ({
  ...item,
  extras: { ...item.extras, ownLoginName: ownLoginNames },
});

function phoneOf(request: NewUserRequest, { phoneDefaultRegion }: PhoneSettings): string | undefined {
  const typed = isHuman(request) ? request.phone : "";
  return typed === "" ? undefined : e164(typed, phoneDefaultRegion);
}

type FactDeps = Pick<Deps, "ids" | "secrets">;

function factsIn({ at, request, extras }: Creatable, mail: NewUserMail | undefined, deps: FactDeps): NewFact[] {
  return [createdFact(at, request, { ...extras, mail }), ...totpFacts(at, request, deps)];
}

/** Late rules of requests to create many users: with `allOrNothing`, any invalid item fails the whole request. */
export function userBatchLateRules(deps: Pick<Deps, "sql" | "ids" | "clock" | "secrets">) {
  const { refusal } = newUsers(deps);
  return [
    lateRule(CreateUsersRequestSchema, [], async (request, call: Call, wrong) => {
      // Otherwise each item has an outcome of its own. A list that is too long is not checked.
      if (!request.allOrNothing || wrong.some(({ field }) => field === "items")) return [];
      const items = itemsOf(request, wrong);
      const found = await findingsOfAll(deps.sql, organizationOf(call), items);
      const refused = await lateNosOf(items, found, (one, findings, path) => refusal(one, findings, { call, path }));
      return refused.flatMap((no) => (no ? violationsOf(no) : []));
    }),
  ];
}

type Refusal = (request: NewUserRequest, findings: NewUserFindings, path: string) => No | undefined;

/** Finds why each item is refused: it is malformed, repeats an earlier one, or cannot be created. */
async function nosOf(
  items: readonly Item[],
  found: readonly NewUserFindings[],
  refusal: Refusal,
): Promise<(No | undefined)[]> {
  const late = await lateNosOf(items, found, refusal);
  return items.map(({ wrong }, n) => {
    const no = late[n];
    return wrong.length === 0 ? no : malformed([...wrong, ...(no ? violationsOf(no) : [])]);
  });
}

/** Finds why each item is refused, even if some of its fields are invalid. */
function lateNosOf(
  items: readonly Item[],
  found: readonly NewUserFindings[],
  refusal: Refusal,
): Promise<(No | undefined)[]> {
  const repeated = repeatedIn(items);
  return mapInPieces(items, ({ request, path }, n) => {
    const findings = found[n];
    return repeated[n] ?? (findings && refusal(request, findings, path));
  });
}

/** Cross-field rules of requests to create many users: of each item, and of all together. */
export const userBatchRules = (settings: PhoneSettings) => [
  itemsRule(CreateUsersRequestSchema, function* ({ items }) {
    for (const [n, item] of items.entries()) yield wrongInItem(item, n, settings);
    yield tooManyPasswords(items);
  }),
];

function wrongInItem({ kind }: CreateUsersItem, n: number, { phoneDefaultRegion }: PhoneSettings): Violation[] {
  if (kind.case === undefined) return [{ field: `items[${n}]`, text: "FIELD_REQUIRED", reason: "REQUIRED" }];
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
  const reason = "TOO_MANY_PASSWORDS";
  return fields
    .slice(mostPasswords)
    .map((field): OfAllItems => ({ field, text: reason, params: { most: mostPasswords }, reason, ofAllItems: true }));
}

function itemsOf({ items }: CreateUsersRequest, found: readonly Violation[]): Item[] {
  const wrongIn = violationsByItem(found);
  return items.map(({ kind }, n) => {
    const path = kind.case === undefined ? `items[${n}].` : `items[${n}].${kind.case}.`;
    const wrong = wrongIn(path);
    if (kind.case === undefined && wrong.length === 0) throw new Error("an item without a kind passed its rule");
    return { request: withoutWrong(kind.value ?? nobody, wrong, path), path, wrong };
  });
}

/** Stands in for the user of an item without one. */
const nobody: NewUserRequest = createMessage(CreateMachineUserRequestSchema);

/** Reads the state of each item in a separate statement: hundreds of items would delay other callers of the shared one. */
async function findingsOfAll(sql: Sql, owner: string, items: readonly Item[]): Promise<NewUserFindings[]> {
  const asked = JSON.stringify(items.map(({ request }, n) => ({ n, ...lookupKeyOf(owner, request) })));
  return await sql<NewUserFindings[]>`
    with asked as materialized (
      select * from jsonb_to_recordset(${asked}::text::jsonb) as asked (n integer, ${sql.unsafe(newUserQuestion.asked)})
    )
    ${sql.unsafe(newUserQuestion.select)} order by n`;
}

const addressed = ({ at, request }: Creatable) => addresseeOf(at, request);

async function answerOf(decided: readonly Decided[], call: Call) {
  const refused = refusedOutcome(call);
  return { outcomes: await mapInPieces(decided, (item) => (item.no ? refused(item.no) : created(item.at))) };
}

const created = (at: At): ItemOutcome => ({
  outcome: { case: "created", value: { userId: at.stream, details: detailsAfter(at) } },
});

/** Finds the items that repeat an earlier one's login name or id. */
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
  const violations: Violation[] = [{ field, text: "ITEM_REPEATED", params: { other }, reason: "REPEATED" }];
  return { reason: "VALIDATION_FAILED", field, params: { fields: field }, violations };
}
