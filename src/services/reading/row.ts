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
type Lines = { readonly lines: readonly string[]; readonly indent: number };

const unbroken: Lines = { lines: [], indent: 0 };

/** Composes the select list of the named columns, for a table alias. */
export const selected = (alias: string, names: readonly string[], layout: Lines = unbroken): string =>
  listed(
    names.map((name) => [
      name,
      columnOf(name) === name ? `${alias}.${name}` : `${alias}.${columnOf(name)} as "${name}"`,
    ]),
    layout,
  );

/** Returns the column that a field is read from: `given_name` of `givenName`. */
export const columnOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function listed(items: readonly (readonly [name: string, text: string])[], { lines, indent }: Lines): string {
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
 * Makes the function that composes inserts of a row from facts `f`: from the values of its columns, in their order, besides the owner and the
 * id. The compiler rejects a value for a column that the row lacks, and an insert without a column of the row, unless the column is named
 * among those that start with their defaults.
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
