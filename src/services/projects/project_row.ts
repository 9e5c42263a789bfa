import { history, insertOf, type RowOf } from "../reading/row.ts";

/** A project's columns other than the id, from which its row, select lists and insert derive. */
export const projectRow = {
  owner: "text",
  name: "text",
  active: "boolean",
  grantRequired: "boolean",
  ...history,
} as const;

export type ProjectRow = RowOf<typeof projectRow> & {
  readonly id: string;
  /** The project grant by which the organization has the project; null if it is its own. */
  readonly grantId: string | null;
};

/** Composes the insert of a project. */
export const projectInserted = insertOf({ table: "projects", id: "project_id" }, projectRow);
