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

/** A user's columns other than the id, from which its row, select lists and inserts derive. */
export const userRow = { ...names, ...known, ...history };

export type UserRow = RowOf<typeof userRow> & { readonly id: string };

export const userColumns = [names, known, history].map((columns) => selected("u", Object.keys(columns))).join(",\n  ");

/** Checks the columns of a user insert, naming those that keep their defaults. */
export const userInserted: Inserted<typeof userRow, "user_id"> = (_, list) => list;
