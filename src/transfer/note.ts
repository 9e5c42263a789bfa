/** A part of an export that does not come along as it is. */
export type Note = {
  /** `changed`: it comes along in another form; `lost`: it does not come along. */
  readonly became: "changed" | "lost";
  readonly what: string;
};

/** A part that comes along in another form. */
export const changed = (what: string): Note => ({ became: "changed", what });

/** A part that does not come along. */
export const lost = (what: string): Note => ({ became: "lost", what });
