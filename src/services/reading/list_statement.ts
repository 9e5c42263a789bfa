import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { NameOrder } from "../../../gen/postern/v1/list_order_pb.ts";
import type { Violation } from "../../errors.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type MessageRule, messageRule } from "../../rules.ts";
import { mostRead, type Page, type PageRequest } from "./page.ts";

const anything = (sql: Sql) => sql`true`;

/** A part of a statement. */
export type Fragment = ReturnType<typeof anything>;

/** A filter by a text or its beginning; the SQL `column` is already folded. */
export type TextFilter = { readonly column: string; readonly text: string; readonly isPrefix: boolean };

/** The filters and the order of a list. */
export type NamedQuery = {
  readonly texts: readonly TextFilter[];
  readonly words: readonly string[];
  readonly order: NameOrder;
  /** Filters by the `active` column; undefined for all. */
  readonly active?: boolean | undefined;
  /** Filters by an entry of the metadata; undefined for all. */
  readonly entry?: { readonly key: string; readonly value?: string | undefined } | undefined;
};

/** A list of named objects, in SQL. */
export type NamedList = NamedQuery & {
  /** The columns of a row other than its id. */
  readonly columns: string;
  /** The table, under the alias that the columns use. */
  readonly table: Fragment;
  /** The same rows if they are few: a subquery with an offset, so that the planner keeps it separate and does not read the rest. */
  readonly few?: Fragment | undefined;
  readonly alias: string;
  readonly id: string;
  /** The column of the default order. */
  readonly name: string;
  /** A column that has the same value throughout the list, and the value. */
  readonly scope: { readonly column: string; readonly value: string } | undefined;
  /** Whether it is ordered by age whatever the filters, for which there is no index then. */
  readonly isByAgeAlone?: boolean;
  /** Whether the index by age compares bytes. */
  readonly isAgeByBytes?: boolean;
  /** The rows of `terms`, as `w`, that belong to the list. */
  readonly terms: Fragment;
  /** The rows of metadata, as `m`, that belong to the list, if it can be filtered by metadata. */
  readonly entries?: Fragment;
  /** The column of a row's words, in byte order, each between spaces. */
  readonly ownWords: string;
  /** The condition that the index by name covers. */
  readonly served?: Fragment | undefined;
  /** The conditions that no index covers. */
  readonly unserved?: readonly Fragment[];
};

/** The columns that page tokens consist of. */
export type NamedRow = {
  readonly id: string;
  readonly key: string;
  readonly isMatch: boolean;
  readonly isLast: boolean;
};

/**
 * Reads a page in the order of the first exact text, or by age for an entry of metadata, or in the order of the search, or of the first
 * prefix, or as requested; the first that applies.
 */
export async function readNamed<R>(sql: Sql, lists: readonly NamedList[], { after, limit }: Page) {
  const order = sql.unsafe(orderOf(lists[0]));
  const [one, other] = lists.map((list) => candidates(sql, withState(sql, list), after));
  return sql<(R & NamedRow)[]>`
    select * from (${other ? sql`(${one ?? sql``}) union all (${other})` : (one ?? sql``)}) found
    where "isMatch" or "isLast" order by ${order} limit ${limit}`;
}

// Rows found by an exact text share one key. The planner uses that inside the subquery but not here: asked to order by both, it would read
// and sort them all.
function orderOf(list: NamedList | undefined): string {
  const { backwards, isByAge } = directionOf(list?.order);
  return isByAge || list?.entry || exactIn(list?.texts) ? `id ${backwards}` : `key ${backwards}, id ${backwards}`;
}

function directionOf(order: NameOrder = NameOrder.ASCENDING) {
  const isBackwards = order === NameOrder.DESCENDING || order === NameOrder.NEWEST;
  const isByAge = order === NameOrder.NEWEST || order === NameOrder.OLDEST;
  return { backwards: isBackwards ? "desc" : "asc", beyond: isBackwards ? "<" : ">", isByAge };
}

/** Adds the condition of the state. An index by name covers the inactive objects, which are few. */
function withState(sql: Sql, list: NamedList): NamedList {
  const { active, alias, served, unserved = [] } = list;
  if (active === undefined) return list;
  if (active) return { ...list, unserved: [...unserved, sql`${sql.unsafe(alias)}.active`] };
  const inactive = sql`not ${sql.unsafe(alias)}.active`;
  return { ...list, served: served ? sql`${served} and ${inactive}` : inactive };
}

type After = Page["after"];

function candidates(sql: Sql, list: NamedList, after: After): Fragment {
  const { texts, words } = list;
  if (list.isByAgeAlone) return byAge(sql, list, after);
  const exact = exactIn(texts);
  if (list.entry && !exact) return byEntry(sql, list, { entry: list.entry, after });
  const word = exact ? undefined : longest(words);
  if (word !== undefined) return byWord(sql, list, { word, after });
  const leading = exact ?? texts[0];
  if (leading) return byText(sql, list, { leading, after });
  return directionOf(list.order).isByAge ? byAge(sql, list, after) : byName(sql, list, after);
}

const exactIn = (texts: readonly TextFilter[] = []) => texts.find(({ isPrefix }) => !isPrefix);

const longest = (words: readonly string[]) => [...words].sort((one, other) => other.length - one.length)[0];

function byName(sql: Sql, list: NamedList, after: After): Fragment {
  const served = list.served ? sql`${within(sql, list, bytes)} and ${list.served}` : within(sql, list);
  return byColumn(sql, list, { key: list.name, id: list.id, served, rest: restOf(sql, list), after });
}

function byText(sql: Sql, list: NamedList, { leading, after }: { leading: TextFilter; after: After }): Fragment {
  const texts = list.texts.filter((text) => text !== leading);
  const rest = restOf(sql, { ...list, texts, unserved: unservedIn(list) });
  const served = sql`${within(sql, list, bytes)} and ${compared(sql, leading)}`;
  return byColumn(sql, list, { key: bytes(leading.column), id: bytes(list.id), served, rest, after });
}

/** The condition that holds for every row of a list. */
function within(sql: Sql, { scope }: NamedList, collated = (column: string) => column): Fragment {
  return scope ? sql`${sql.unsafe(collated(scope.column))} = ${scope.value}` : anything(sql);
}

type ByColumn = {
  readonly key: string;
  readonly id: string;
  readonly served: Fragment;
  readonly rest: Fragment;
  readonly after: After;
};

function byColumn(sql: Sql, list: NamedList, { key, id, served, rest, after }: ByColumn): Fragment {
  const { backwards, beyond } = directionOf(list.order);
  const order = sql.unsafe(`${key} ${backwards}, ${id} ${backwards}`);
  const [lastKey = "", lastId = ""] = after ?? [];
  return sql`
    select ${sql.unsafe(`${id} as id, ${list.columns}, ${key}`)} as key, ${rest} as "isMatch",
      row_number() over (order by ${order}) = ${mostRead} as "isLast"
    from ${list.few ?? list.table} where ${served}
      and ${after ? sql`(${sql.unsafe(`${key}, ${id}`)}) ${sql.unsafe(beyond)} (${lastKey}, ${lastId})` : sql`true`}
    order by ${order} limit ${mostRead}`;
}

function byAge(sql: Sql, list: NamedList, after: After): Fragment {
  const { backwards, beyond } = directionOf(list.order);
  const id = list.isAgeByBytes ? bytes(list.id) : list.id;
  const order = sql.unsafe(`${id} ${backwards}`);
  return sql`
    select ${sql.unsafe(`${id} as id, ${list.columns}`)}, '' as key,
      ${restOf(sql, { ...list, unserved: unservedIn(list) })} as "isMatch",
      row_number() over (order by ${order}) = ${mostRead} as "isLast"
    from ${list.few ?? list.table} where ${within(sql, list, list.isAgeByBytes ? bytes : undefined)}
      and ${after ? sql`${sql.unsafe(`${id} ${beyond}`)} ${after[1] ?? ""}` : sql`true`}
    order by ${order} limit ${mostRead}`;
}

/** Reads in the order of the words that start with the given one. An object with several such words appears once, at the first of them. */
function byWord(sql: Sql, list: NamedList, { word, after }: { word: string; after: After }): Fragment {
  const { backwards, beyond } = directionOf(list.order);
  const order = sql.unsafe(`w.term ${backwards}, w.object_id ${backwards}`);
  const words = list.words.filter((one) => one !== word);
  const rest = restOf(sql, { ...list, words, unserved: unservedIn(list) });
  const [lastKey = "", lastId = ""] = after ?? [];
  const own = sql.unsafe(list.ownWords);
  const isFirst =
    backwards === "asc"
      ? sql`strpos(${own}, ${beginning(sql, word)}) = strpos(${own}, ' ' || w.term || ' ')`
      : sql`strpos(${own}, ' ' || w.term || ${beginning(sql, word)}) = 0`;
  // Rows are limited before the objects are looked up. A join allocates memory for every row whose word has the prefix, which took longer
  // than reading a page.
  return sql`
    select w.object_id as id, ${sql.unsafe(list.columns)}, w.term as key, ${rest} and ${isFirst} as "isMatch", w."isLast"
    from (
      select w.term, w.object_id, row_number() over (order by ${order}) = ${mostRead} as "isLast" from ${list.terms}
      where ${termBegins(sql, word)}
        and ${after ? sql`(w.term, w.object_id) ${sql.unsafe(beyond)} (${lastKey}, ${lastId})` : sql`true`}
      order by ${order} limit ${mostRead}
    ) w cross join lateral (
      select * from ${list.table} where ${within(sql, list)} and ${sql.unsafe(list.id)} = w.object_id limit 1
    ) ${sql.unsafe(list.alias)}`;
}

type ByEntry = { readonly entry: NonNullable<NamedQuery["entry"]>; readonly after: After };

// A hidden object keeps its entries, and may be the last one that is read.
/** Reads the objects with an entry of metadata, in the order of their ids. */
function byEntry(sql: Sql, list: NamedList, { entry, after }: ByEntry): Fragment {
  const { backwards, beyond } = directionOf(list.order);
  const order = sql.unsafe(`m.id ${backwards}`);
  const rest = restOf(sql, { ...list, entry: undefined, unserved: unservedIn(list) });
  const id = sql.unsafe(list.id);
  return sql`
    select m.id, ${sql.unsafe(list.columns)}, '' as key, ${id} is not null and ${rest} as "isMatch", m."isLast"
    from (
      select m.id, row_number() over (order by ${order}) = ${mostRead} as "isLast" from ${list.entries ?? sql``}
      where ${isEntry(sql, entry)} and ${after ? sql`m.id ${sql.unsafe(beyond)} ${after[1] ?? ""}` : sql`true`}
      order by ${order} limit ${mostRead}
    ) m left join lateral (
      select * from ${list.table} where ${within(sql, list)} and ${id} = m.id limit 1
    ) ${sql.unsafe(list.alias)} on true`;
}

const isEntry = (sql: Sql, { key, value = "" }: NonNullable<NamedQuery["entry"]>): Fragment =>
  sql`m.key = ${key} and m.value = ${value}`;

const unservedIn = ({ served, unserved = [] }: NamedList) => (served ? [served, ...unserved] : unserved);

/** The conditions of the filters that the order does not cover. */
function restOf(sql: Sql, { texts, words, ownWords, entry, entries, id, unserved = [] }: NamedList): Fragment {
  const ofWord = (word: string) => sql`strpos(${sql.unsafe(ownWords)}, ${beginning(sql, word)}) > 0`;
  const ofEntry =
    entry && entries
      ? [sql`exists (select from ${entries} where m.id = ${sql.unsafe(id)} and ${isEntry(sql, entry)} offset 0)`]
      : [];
  const all = [...texts.map((text) => compared(sql, text)), ...words.map(ofWord), ...ofEntry, ...unserved];
  return all.reduce<Fragment>((some, one) => sql`${some} and coalesce(${one}, false)`, anything(sql));
}

/** Terms and folded texts are compared by bytes, so that an index works under any collation of the database. */
const bytes = (column: string) => `(${column} collate "C")`;

// A scalar subquery folds a text once instead of once per row.
function compared(sql: Sql, { column, text, isPrefix }: TextFilter): Fragment {
  const key = sql.unsafe(bytes(column));
  if (!isPrefix) return sql`${key} = (select folded(${text}))`;
  return sql`${key} >= (select folded(${text})) and ${sql.unsafe(bytes(column))} < (select folded(${text}) || chr(1114111))`;
}

const termBegins = (sql: Sql, word: string): Fragment => sql`
  w.term >= (select left(folded(${word}), 50)) and w.term < (select left(folded(${word}), 50) || chr(1114111))`;

/** The stored form of words that start with this one. */
const beginning = (sql: Sql, word: string): Fragment => sql`(select ' ' || left(folded(${word}), 50))`;

/** The fields of a filter by name and state. */
export type NameFilter = {
  readonly name: string;
  readonly namePrefix: string;
  readonly search: string;
  readonly state: number;
};

/** The states of objects that can be deactivated, by their numbers in the contract. */
export type States = { readonly ACTIVE: number; readonly INACTIVE: number };

type Filtered = { readonly filter?: NameFilter | undefined; readonly order: NameOrder };

/** Converts a filter by name and state; the column is that of the name. */
export function queryByName({ filter, order }: Filtered, column: string, states: States): NamedQuery {
  const { name = "", namePrefix = "", search = "", state } = filter ?? {};
  const texts = textFilters([[column, name, namePrefix]]);
  return { texts, words: wordsIn(search), order, active: isActive(states, state) };
}

export function isActive(states: States, state: number | undefined): boolean | undefined {
  if (state === states.ACTIVE) return true;
  return state === states.INACTIVE ? false : undefined;
}

/** Makes filters by whole texts and by prefixes; an empty text filters nothing. */
export function textFilters(columns: readonly (readonly [column: string, whole: string, prefix: string])[]) {
  return columns.flatMap(([column, whole, prefix]): TextFilter[] => [
    ...(whole ? [{ column, text: whole, isPrefix: false }] : []),
    ...(prefix ? [{ column, text: prefix, isPrefix: true }] : []),
  ]);
}

// Must match words_of in the database, which splits the searched texts. Accents are combining characters here.
const accents = /[\u0300-\u036f]/g;
const signs = /[\p{Cc} -/:-@[-`{-\u00bf\u00d7\u00f7\u2000-\u206f\u3000-\u303f]+/u;
const number = /^\+[\d\s()./-]+$/;

/** Splits a search into words; a phone number is one word. */
export function wordsIn(search: string): string[] {
  const plain = search.normalize("NFKD").replace(accents, "");
  const whole = number.test(plain) ? plain.replace(/\D/g, "") : plain;
  return [...new Set(whole.split(signs).filter((word) => word !== ""))];
}

type NamedRequest = PageRequest & {
  readonly order?: NameOrder;
  readonly filter?: (object & { readonly search: string }) | undefined;
};

const mostWords = 8;

/**
 * Cross-field rules of a list with a filter by text: the words of its search, and an order only if the filter does not determine it. Some
 * requests allow only the order by age: `ofAge` finds the field that causes this.
 */
export const namedRule = <R extends NamedRequest>(
  type: GenMessage<R>,
  texts: readonly (string & keyof NonNullable<R["filter"]>)[],
  ofAge: (request: R) => string | undefined = () => undefined,
): MessageRule =>
  messageRule(
    type,
    (request) => {
      const other = ofAge(request as R);
      const wrong = other === undefined ? wrongOrder(request as R, texts) : orderByAge(request as R, other);
      return [...wrongSearch(request as R), ...wrong];
    },
    ["filter", "order"],
  );

/** Refuses an order by name if only the order by age is possible. */
function orderByAge({ order }: NamedRequest, other: string): Violation[] {
  const isByName = order === NameOrder.ASCENDING || order === NameOrder.DESCENDING;
  return isByName ? [{ field: "order", text: "ORDER_BY_AGE", params: { other }, reason: "MUTUALLY_EXCLUSIVE" }] : [];
}

function wrongSearch({ filter }: NamedRequest): Violation[] {
  const count = filter?.search ? wordsIn(filter.search).length : 1;
  if (count >= 1 && count <= mostWords) return [];
  const text = count === 0 ? "SEARCH_EMPTY" : "SEARCH_MAX";
  return [{ field: "filter.search", text, params: { max: mostWords }, reason: "SEARCH_WORDS" }];
}

function wrongOrder({ filter, order }: NamedRequest, texts: readonly string[]): Violation[] {
  const set = [...texts, "search"].find((name) => filter && Boolean((filter as Record<string, unknown>)[name]));
  if (!set || !directionOf(order).isByAge) return [];
  const params = { other: `filter.${set}` };
  return [{ field: "order", text: "ORDER_BY_NAME", params, reason: "MUTUALLY_EXCLUSIVE" }];
}
