/** A part of an export that could not be transferred unchanged. */
export type Note = {
  /** `changed`: transferred in another form; `lost`: not transferred. */
  readonly became: "changed" | "lost";
  readonly what: string;
};

export const changed = (what: string): Note => ({ became: "changed", what });

export const lost = (what: string): Note => ({ became: "lost", what });
