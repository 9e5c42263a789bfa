import type { JsonObject } from "@bufbuild/protobuf";

type Values = {
  readonly text: string;
  readonly "text[]": readonly string[];
  readonly boolean: boolean;
  readonly bigint: bigint;
  readonly timestamptz: Date;
  readonly jsonb: JsonObject;
};

/** A PostgreSQL column type; a question mark makes it nullable. */
export type ColumnType = keyof Values | `${keyof Values}?`;

/** The columns of a row by field name. */
export type Columns = Readonly<Record<string, ColumnType>>;

/** A row as the driver reads it. */
export type RowOf<C extends Columns> = { readonly [Name in keyof C]: ValueOf<C[Name]> };

type ValueOf<T extends ColumnType> = T extends keyof Values
  ? Values[T]
  : T extends `${infer Type extends keyof Values}?`
    ? Values[Type] | null
    : never;

/** The columns that every object has besides its id and its owner. */
export const history = { version: "bigint", created: "timestamptz", changed: "timestamptz" } as const;

/** The values of these columns in an insert. */
export const historyInFact = { version: "f.version", created: "f.time", changed: "f.time" } as const;

/** The fields that begin a new line of SQL, and its indentation. */
type Lines = { readonly lines?: readonly string[]; readonly indent?: number };

/** How a select list is written, and what its fields are called unless by their own names. */
type Layout = Lines & { readonly as?: (name: string) => string };

/** Composes the select list of the named columns, for a table alias or, if it is empty, without one. */
export function selected(alias: string, names: readonly string[], { as = same, ...lines }: Layout = {}): string {
  const prefix = alias && `${alias}.`;
  const shown = (column: string, field: string) => (column === field ? column : `${column} as "${field}"`);
  return listed(
    names.map((name) => [name, `${prefix}${shown(columnOf(name), as(name))}`]),
    lines,
  );
}

const same = (name: string): string => name;

/** Returns the column that a field is read from: `given_name` of `givenName`. */
export const columnOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function listed(items: readonly (readonly [name: string, text: string])[], { lines = [], indent = 0 }: Lines): string {
  const between = (name: string) => (lines.includes(name) ? `,\n${" ".repeat(indent)}` : ", ");
  return items.map(([name, text], at) => (at === 0 ? text : `${between(name)}${text}`)).join("");
}

/** The SQL of the fields that a fact has by the same names, as texts. */
export const inFact = <const Name extends string>(...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, `f.payload->>'${name}'`])) as Readonly<Record<Name, string>>;

/** A table, and the column with the ids of its rows. */
type Table = { readonly table: string; readonly id: string };

/** Where the columns and the values of an insert begin new lines. */
type InsertLines = { readonly columns?: readonly string[]; readonly values?: readonly string[] };

/** What an insert writes to a row with these columns: a value for each that does not start with its default. */
type Written<C extends Columns, Default> = Readonly<Record<Exclude<keyof C, Default | "owner">, string>>;

type NoOther<V, C> = { readonly [Other in Exclude<keyof V, keyof C>]: never };

/**
 * Makes the function that composes inserts of a row from facts `f`. It takes the names of the columns that start with their defaults, and
 * the values of the others, in their order; owner and id come first by themselves. The compiler rejects an insert that omits a column of
 * the row, and one with a column that the row lacks.
 */
export const insertOf =
  <const C extends Columns>({ table, id }: Table, row: C) =>
  <const Default extends keyof C, V extends Written<C, Default>>(
    _defaults: readonly Default[],
    written: V & NoOther<V, C>,
    { columns = [], values = [] }: InsertLines = {},
  ): string => {
    const all = { ...("owner" in row && { owner: "f.owner" }), [id]: "f.stream", ...written };
    const names = Object.keys(all).map((name) => [name, columnOf(name)] as const);
    return `insert into ${table} (${listed(names, { lines: columns, indent })})
       select ${listed(Object.entries<string>(all), { lines: values, indent })}`;
  };

const indent = 9;
