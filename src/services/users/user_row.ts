import { type Inserted, type RowOf, selected } from "../reading/row.ts";

const names = { owner: "text", kind: "text", username: "text", givenName: "text?", familyName: "text?" } as const;

const known = {
  email: "text?",
  emailVerified: "boolean",
  requiresFactor: "boolean",
  phone: "text?",
  phoneVerified: "boolean",
  address: "jsonb?",
  language: "text?",
  name: "text?",
  active: "boolean",
  ownLoginName: "boolean",
  locked: "boolean",
  lockedUntil: "timestamptz?",
} as const;

const history = { version: "bigint", created: "timestamptz", changed: "timestamptz" } as const;

/** Columns that are written, but not read with the others. */
const unread = { emailSetter: "text?", provenEmail: "text?" } as const;

const read = { ...names, ...known, ...history };

/** A user's columns other than the id, from which its row, select lists and inserts derive. */
export const userRow = { ...read, ...unread };

export type UserRow = RowOf<typeof read> & { readonly id: string };

export const userColumns = [names, known, history].map((columns) => selected("u", Object.keys(columns))).join(",\n  ");

/** Checks the columns of a user insert, naming those that keep their defaults. */
export const userInserted: Inserted<typeof userRow, "user_id"> = (_, list) => list;
