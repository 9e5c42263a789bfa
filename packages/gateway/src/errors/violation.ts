import type { ViolationKey } from "./violation_texts.ts";

/** An invalid field of a request; the keys are those of the gateway's texts, or your own. */
export type Violation<Key extends string = ViolationKey> = {
  /** The path of the field in the JSON body, with indexes: `items[3].roleKeys[0]`. */
  readonly field: string;
  /** The name of the text that says what is wrong, or that text itself if the table of texts has no such name. */
  readonly text: Key;
  /** The parameters of the text. */
  readonly params?: TextParams;
  /** The name of the broken rule in UPPER_SNAKE, if it has one. */
  readonly reason?: string;
};

/** The values for a text's names in braces. */
export type TextParams = Readonly<Record<string, string | number>>;

/** A violation as a response lists it, in English. */
export type ListedViolation = { readonly field: string; readonly description: string; readonly reason: string };

export type Describe<Key extends string> = (violation: Violation<Key>) => string;

/** Whether a path names the same field as another path, or a part of it. */
export const isWithin = (inner: string, outer: string): boolean =>
  inner.startsWith(outer) && (inner.length === outer.length || isSeparator(inner[outer.length]));

const isSeparator = (character: string | undefined) => character === "." || character === "[";

/** A path and each of its parents. */
export function* pathsAround(path: string): Generator<string> {
  yield path;
  for (let at = path.length - 1; at >= 0; at -= 1) if (isSeparator(path[at])) yield path.slice(0, at);
}

/** The number of violations at which a search stops. */
export const maxViolations = 1000;

/** The maximum number of violations in a response. */
export const maxListed = 100;

/** The maximum length of a client's text in a response, in UTF-16 code units. */
export const maxTextLength = 200;

// An error body has at most 64 KiB, of which texts of 200 characters outside the list take at most 16 KiB.
const maxListBytes = 40 * 1024;
// The list together with its messages in the caller's language.
const maxLocalizedBytes = 48 * 1024;

/** Shortens a text for a response, and makes it well formed. */
export function cutText(text: string): string {
  if (text.length <= maxTextLength) return text.toWellFormed();
  const end = maxTextLength - 1;
  // Half a surrogate pair would become U+FFFD.
  const cutsPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return `${text.slice(0, cutsPair ? end - 1 : end).toWellFormed()}…`;
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit < 0xe000;

/** The first violations, as many as fit into a response. */
export function listed<Key extends string>(
  violations: readonly Violation<Key>[],
  describe: Describe<Key>,
): ListedViolation[] {
  const list: ListedViolation[] = [];
  let bytes = 0;
  for (const violation of violations.slice(0, maxListed)) {
    const { field, reason = "" } = violation;
    const one = { field: cutText(field), description: cutText(describe(violation)), reason };
    bytes += sizeOf(one);
    if (bytes > maxListBytes) break;
    list.push(one);
  }
  return list;
}

/** The size of a violation over Connect, which needs the most: as JSON, and again in base64. */
function sizeOf(one: ListedViolation): number {
  const binary = Buffer.byteLength(`${one.field}${one.description}${one.reason}`) + 12;
  return Buffer.byteLength(JSON.stringify(one)) + 1 + Math.ceil(binary / 3) * 4;
}

/** The localized messages that fit next to their violations, counted from the first. */
export function fittingMessages(
  violations: readonly ListedViolation[],
  messages: readonly (string | undefined)[],
): (string | undefined)[] {
  let bytesLeft = violations.reduce((bytes, one) => bytes - sizeOf(one), maxLocalizedBytes);
  return messages.map((message) => {
    if (message === undefined) return undefined;
    const cut = cutText(message);
    bytesLeft -= Buffer.byteLength(JSON.stringify(cut)) + Math.ceil(Buffer.byteLength(cut) / 3) * 4 + localizedOverhead;
    return bytesLeft >= 0 ? cut : undefined;
  });
}

// The names and the language of a localized message, as JSON and again in base64.
const localizedOverhead = 90;

const maxNames = 10;

/** The fields named in an error message, and the number of violations of other fields. */
export function namedFields(violations: readonly { readonly field: string }[]): {
  readonly fields: string;
  readonly more: number;
} {
  const names: string[] = [];
  let length = 0;
  for (const { field } of violations.slice(0, maxNames)) {
    const name = cutText(field);
    length += name.length + (names.length > 0 ? separator.length : 0);
    if (length > maxTextLength) break;
    names.push(name);
  }
  return { fields: names.join(separator), more: violations.length - names.length };
}

const separator = ", ";
