import type { JsonValue } from "@bufbuild/protobuf";

/** Whether PostgreSQL stores a text unchanged: without U+0000 (22021), and without lone surrogates, which would become other characters. */
export const isText = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** Whether every text in an open object (google.protobuf.Struct) is well formed, including its keys. */
export function isSoundObject(value: JsonValue): boolean {
  if (typeof value === "string") return isText(value);
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isSoundObject);
  for (const key in value) if (!isText(key) || !isSoundObject(value[key] ?? null)) return false;
  return true;
}

/** Calls back for each malformed text in an open object, with the keys and indexes that lead to it. */
export function unsoundTexts(
  value: JsonValue,
  found: (text: string, at: readonly (string | number)[]) => void,
  at: readonly (string | number)[] = [],
): void {
  if (typeof value === "string" && !isText(value)) found(value, at);
  if (typeof value !== "object" || value === null || isSoundObject(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    const inside = [...at, Array.isArray(value) ? Number(key) : key];
    if (!isText(key)) found(key, inside);
    unsoundTexts(inner, found, inside);
  }
}
