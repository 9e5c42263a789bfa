/** The colours that a branding does not set; those of the sign-in pages. */
export const plain = {
  light: { accent: "#1a4fba", ground: "#f5f6f8" },
  dark: { accent: "#9bbcff", ground: "#14171b" },
} as const;
export type Scheme = keyof typeof plain;

/** Whether a text is a complete colour. */
export const isColor = (value: unknown): value is string => typeof value === "string" && /^#[0-9a-f]{6}$/i.test(value);
