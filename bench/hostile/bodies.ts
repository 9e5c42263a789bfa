/** The largest message that the settings allow by default. */
export const largest = 4_194_304;

const text = (value: string) => Buffer.from(value, "latin1");

/** One key that is repeated under a long one: the path of each repetition names the long one too. */
export function repeatedKeys(longBytes: number, repeats: number): Buffer {
  const pairs = Array.from({ length: repeats }, (_, n) => `"a${n}":1,"a${n}":1`);
  return text(`{"${"A".repeat(longBytes)}":{${pairs.join(",")}}}`);
}

/** Keys that no message has, all different. */
export function unknownKeys(bytes: number): Buffer {
  const pairs: string[] = [];
  for (let size = 2, n = 0; size < bytes - 16; n += 1) {
    const pair = `"${n.toString(36)}":1`;
    pairs.push(pair);
    size += pair.length + 1;
  }
  return text(`{${pairs.join(",")}}`);
}

/** Items in a list of this field, as many as fit. */
export function jsonList(field: string, item: string, bytes = largest): Buffer {
  const most = Math.floor((bytes - field.length - 16) / (item.length + 1));
  return text(`{"${field}":[${`${item},`.repeat(most - 1)}${item}]}`);
}

/** The same few bytes again and again. */
export const repeated = (bytes: readonly number[], size = largest - 64): Buffer =>
  Buffer.alloc(Math.floor(size / bytes.length) * bytes.length, Buffer.of(...bytes));

/** A text in a field of JSON. */
export const jsonText = (field: string, value: string): Buffer => Buffer.from(`{"${field}":"${value}"}`);

/** A text, or bytes, in a field of Protobuf with a number below 16. */
export function protoText(field: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.of((field << 3) | 2), varint(value.length), value]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}

/** Opening brackets, and as many that close. */
export function nested(open: string, middle: string, close: string, bytes = largest): Buffer {
  const depth = Math.floor((bytes - middle.length) / (open.length + close.length));
  return text(open.repeat(depth) + middle + close.repeat(depth));
}

/**
 * Combining marks of one class and then as many of a lower one: the canonical order of Unicode (UAX 15) wants each of the
 * latter in front of all of the former, and ICU moves them one by one.
 */
export function combiningMarks(bytes: number): string {
  const each = Math.floor(bytes / 4);
  return `a${"\u0301".repeat(each)}${"\u0323".repeat(each)}`;
}
