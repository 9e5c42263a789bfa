/** The languages of the console: those of the server. */
export const languages = ["en", "de", "fr", "es"] as const;
export type Language = (typeof languages)[number];
