import { history, insertOf, type RowOf } from "../reading/row.ts";

/** An organization's columns other than the id, from which its row, select lists and insert derive. */
export const organizationRow = {
  name: "text",
  active: "boolean",
  ownLoginNames: "boolean",
  requiresAcceptance: "boolean",
  ...history,
} as const;

/** An organization owns itself. */
export type OrganizationRow = RowOf<typeof organizationRow> & { readonly id: string; readonly owner: string };

/** Composes the insert of an organization. */
export const organizationInserted = insertOf({ table: "organizations", id: "organization_id" }, organizationRow);
