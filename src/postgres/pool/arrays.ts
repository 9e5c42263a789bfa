type Element = {
  readonly oid: number;
  readonly write: (value: unknown) => string;
  readonly read: (text: string) => unknown;
};
type ArrayValue = readonly (unknown | ArrayValue)[];

const asText = (value: unknown): string => String(value);
const asIs = (text: string): string => text;
const asNumber = { write: asText, read: Number };

// The keys are object identifiers of pg_type.typarray, which PostgreSQL never changes.
const elements = {
  boolArray: { oid: 1000, write: (value) => (value === true ? "t" : "f"), read: (text) => text === "t" },
  byteaArray: { oid: 1001, write: (value) => `\\x${bytesOf(value).toString("hex")}`, read: (text) => bytesIn(text) },
  int2Array: { oid: 1005, ...asNumber },
  int4Array: { oid: 1007, ...asNumber },
  textArray: { oid: 1009, write: asText, read: asIs },
  varcharArray: { oid: 1015, write: asText, read: asIs },
  int8Array: { oid: 1016, write: asText, read: BigInt },
  float4Array: { oid: 1021, ...asNumber },
  float8Array: { oid: 1022, ...asNumber },
  timestamptzArray: { oid: 1185, write: (value) => dateOf(value).toISOString(), read: (text) => new Date(text) },
  uuidArray: { oid: 2951, write: asText, read: asIs },
} satisfies Record<string, Element>;

/**
 * Converts arrays for the database and back. The driver would ask each new connection for this table by a statement whose
 * failure nobody catches (`fetch_types`, postgres.js 3.4.9), so that a connection that dies during it ends the process.
 */
export const arrayTypes = Object.fromEntries(
  Object.entries<Element>(elements).map(([name, { oid, write, read }]) => [
    name,
    {
      to: oid,
      from: [oid],
      serialize: (value: unknown) => (Array.isArray(value) ? arrayText(value, write) : asText(value)),
      parse: (text: string) => arrayIn(text, read),
    },
  ]),
);

/** Writes an array literal: each element in quotes, so that none can be mistaken for syntax or NULL. */
export function arrayText(values: ArrayValue, write: (value: unknown) => string = asText): string {
  const written = values.map((value) => {
    if (value === undefined) throw new Error("an array holds undefined");
    if (value === null) return "NULL";
    return Array.isArray(value) ? arrayText(value, write) : `"${write(value).replace(/[\\"]/g, "\\$&")}"`;
  });
  return `{${written.join(",")}}`;
}

/** Parses an array literal of PostgreSQL. */
export function arrayIn(text: string, read: (text: string) => unknown = asIs): unknown[] {
  if (!plain.test(text) || text.includes("NULL")) return anyArrayIn(text, read);
  return text
    .slice(1, -1)
    .split(",")
    .map((element) => read(element));
}

// Most arrays have one dimension and elements that need no quotes: to cut them costs a tenth of parsing them.
const plain = /^\{[^{}"\\]+\}$/;

function anyArrayIn(text: string, read: (text: string) => unknown): unknown[] {
  const root: unknown[] = [];
  const open: unknown[][] = [root];
  // An array that does not begin at 1 has its bounds in front: `[0:1]={a,b}`.
  const body = text.startsWith("[") ? text.slice(text.indexOf("=") + 1) : text;
  for (const [, brace, quoted, bare] of body.matchAll(token)) {
    if (brace === "{") open.push([]);
    else if (brace === "}") open.at(-2)?.push(open.pop());
    else if (quoted !== undefined) open.at(-1)?.push(read(quoted.replace(/\\(.)/gs, "$1")));
    else if (bare !== undefined) open.at(-1)?.push(bare === "NULL" ? null : read(bare));
  }
  const [array] = root;
  if (open.length !== 1 || !Array.isArray(array)) throw new Error("not an array of PostgreSQL");
  return array;
}

// A brace, an element in quotes, a bare element; commas stand between them.
const token = /([{}])|"((?:[^"\\]|\\.)*)"|([^{},"]+)/gs;

function bytesOf(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  throw new Error("an array of bytea holds something else");
}

const bytesIn = (text: string): Buffer => Buffer.from(text.slice(2), "hex");

function dateOf(value: unknown): Date {
  return value instanceof Date ? value : new Date(asText(value));
}
