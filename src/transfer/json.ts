/** An object of JSON whose fields nobody has checked. */
export type Named = Readonly<Record<string, unknown>>;

/** Whether a value is an object with named fields. */
export const isNamed = (value: unknown): value is Named =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads a text; what is none is empty. */
export const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Reads a list of objects; what is none is empty. */
export const listOf = (value: unknown): Named[] => (Array.isArray(value) ? value.filter(isNamed) : []);

/** Reads a list of texts; what is none is empty. */
export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
