/** The maximum nesting of objects and lists, the same as in protobuf-es. */
export const maxDepth = 100;

/** The path of a field inside another one, as JSON spells it. */
export const fieldIn = (parent: string, name: string): string => (parent ? `${parent}.${name}` : name);

/** The offset of the quote that closes a string. */
export function closingQuote(text: string, open: number): number {
  let at = text.indexOf('"', open + 1);
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === 0x5c) first -= 1;
  return (at - first) % 2 === 1;
}
