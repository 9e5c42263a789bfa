/** One field of a request that is wrong. */
export type Violation = {
  /** Its path as the JSON body spells it, with indexes: `items[3].roleKeys[0]`. */
  readonly field: string;
  readonly description: string;
  /** The rule that is broken, in UPPER_SNAKE, where it has a name. */
  readonly reason?: string;
};

/** A violation as an answer lists it. */
export type ListedViolation = Required<Violation>;

/** Whether one path leads to the field that another one names, or to a part of it. */
export const isWithin = (inner: string, outer: string): boolean =>
  inner.startsWith(outer) && (inner.length === outer.length || isSeparator(inner[outer.length]));

const isSeparator = (character: string | undefined) => character === "." || character === "[";

/** Every path that a path is within: itself and each of its parents. */
export function* pathsAround(path: string): Generator<string> {
  yield path;
  for (let at = path.length - 1; at >= 0; at -= 1) if (isSeparator(path[at])) yield path.slice(0, at);
}

/** How many violations are searched for; a search that finds as many ends there. */
export const mostViolations = 1000;

/** How many violations an answer lists. */
export const mostListed = 100;

/** How many characters of a text an answer repeats, as UTF-16 counts them. */
export const mostCharacters = 200;

// An error body has at most 64 KiB; the texts of 200 characters that it holds beside the list take 16 KiB at most.
const mostListBytes = 48 * 1024;

/** The text as an answer repeats it: cut, and well-formed. */
export function cutText(text: string): string {
  if (text.length <= mostCharacters) return text.toWellFormed();
  const end = mostCharacters - 1;
  // Half a surrogate pair would become U+FFFD.
  const cutsPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return `${text.slice(0, cutsPair ? end - 1 : end).toWellFormed()}…`;
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit < 0xe000;

/** The first violations, as many as an answer has room for. */
export function listed(violations: readonly Violation[]): ListedViolation[] {
  const list: ListedViolation[] = [];
  let bytes = 0;
  for (const { field, description, reason = "" } of violations.slice(0, mostListed)) {
    const one = { field: cutText(field), description: cutText(description), reason };
    bytes += sizeOf(one);
    if (bytes > mostListBytes) break;
    list.push(one);
  }
  return list;
}

/** How many bytes a violation takes over Connect, which takes most: as JSON, and in base64 once more. */
function sizeOf(one: ListedViolation): number {
  const binary = Buffer.byteLength(`${one.field}${one.description}${one.reason}`) + 12;
  return Buffer.byteLength(JSON.stringify(one)) + 1 + Math.ceil(binary / 3) * 4;
}

const mostNames = 10;

/** The fields that a message names, and how many violations are of others. */
export function namedFields(violations: readonly Violation[]): { readonly fields: string; readonly more: number } {
  const names: string[] = [];
  let length = 0;
  for (const { field } of violations.slice(0, mostNames)) {
    const name = cutText(field);
    length += name.length + (names.length > 0 ? separator.length : 0);
    if (length > mostCharacters) break;
    names.push(name);
  }
  return { fields: names.join(separator), more: violations.length - names.length };
}

const separator = ", ";
