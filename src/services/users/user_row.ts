import { history, insertOf, type RowOf, selected } from "../reading/row.ts";

const read = {
  owner: "text",
  kind: "text",
  username: "text",
  givenName: "text?",
  familyName: "text?",
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
  ...history,
} as const;

/** Columns that are written, but not read with the others. */
const unread = { emailSetter: "text?", provenEmail: "text?" } as const;

/** A user's columns other than the id, from which its row, select lists and inserts derive. */
export const userRow = { ...read, ...unread };

export type UserRow = RowOf<typeof read> & { readonly id: string };

export const userColumns = selected("u", Object.keys(read), { lines: ["email", "version"], indent: 2 });

/** Composes the insert of a user. */
export const userInserted = insertOf({ table: "users", id: "user_id" }, userRow);
