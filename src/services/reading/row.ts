import type { JsonObject } from "@bufbuild/protobuf";

type Values = {
  readonly text: string;
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

/** Composes the select list of the named columns, for a table alias. */
export const selected = (alias: string, names: readonly string[]): string =>
  names
    .map((name) => (columnOf(name) === name ? `${alias}.${name}` : `${alias}.${columnOf(name)} as "${name}"`))
    .join(", ");

/** Returns the column that a field is read from: `given_name` of `givenName`. */
export const columnOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type ColumnOf<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${ColumnOf<Rest>}`
  : S;

type Trimmed<S extends string> = S extends ` ${infer Rest}` | `\n${infer Rest}` ? Trimmed<Rest> : S;

type Listed<S extends string> = S extends `${infer First},${infer Rest}` ? Trimmed<First> | Listed<Rest> : Trimmed<S>;

type Wrong<List extends string, Known extends string, Written extends string> =
  | ([Exclude<Listed<List>, Known>] extends [never] ? never : `the row has no ${Exclude<Listed<List>, Known>}`)
  | ([Exclude<Written, Listed<List>>] extends [never] ? never : `the insert lacks ${Exclude<Written, Listed<List>>}`);

// A wrong list must have a type that no list has: the message that the compiler prints.
type Sound<List extends string, Message extends string> = [Message] extends [never] ? List : Message;

/**
 * Checks the columns of an insert, and returns them unchanged. The compiler rejects a list with a column that the row lacks, and one that
 * omits a column of the row, unless it is named among those that start with their defaults.
 */
export type Inserted<C extends Columns, Key extends string> = <
  const Default extends keyof C & string,
  const List extends string,
>(
  defaults: readonly Default[],
  list: Sound<List, Wrong<List, ColumnOf<keyof C & string> | Key, ColumnOf<Exclude<keyof C & string, Default>> | Key>>,
) => string;
