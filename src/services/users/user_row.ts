import { type Inserted, type RowOf, selected } from "../reading/row.ts";

const names = { owner: "text", kind: "text", username: "text", givenName: "text?", familyName: "text?" } as const;

const known = {
  email: "text?",
  emailVerified: "boolean",
  requiresFactor: "boolean",
  phone: "text?",
  phoneVerified: "boolean",
  address: "jsonb?",
  name: "text?",
  active: "boolean",
  locked: "boolean",
  lockedUntil: "timestamptz?",
} as const;

const history = { version: "bigint", created: "timestamptz", changed: "timestamptz" } as const;

/** The columns of a user beside its id, which its row, its select lists and its inserts derive from. */
export const userRow = { ...names, ...known, ...history };

/** A user as its row holds it. */
export type UserRow = RowOf<typeof userRow> & { readonly id: string };

/** The select list of a user `u` beside its id. */
export const userColumns = [names, known, history].map((columns) => selected("u", Object.keys(columns))).join(",\n  ");

/** Checks the columns of an insert of a user; those that it leaves to their defaults are named. */
export const userInserted: Inserted<typeof userRow, "user_id"> = (_, list) => list;
