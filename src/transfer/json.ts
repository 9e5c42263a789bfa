/** A JSON object whose fields have not been checked. */
export type Named = Readonly<Record<string, unknown>>;

/** Whether a value is an object with named fields. */
export const isNamed = (value: unknown): value is Named =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads a text; anything else is empty. */
export const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Reads a list of objects; anything else is empty. */
export const listOf = (value: unknown): Named[] => (Array.isArray(value) ? value.filter(isNamed) : []);

/** Reads a list of texts; anything else is empty. */
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
