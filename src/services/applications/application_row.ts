import { history, insertOf, type RowOf, selected } from "../reading/row.ts";

const read = {
  owner: "text",
  projectId: "text",
  name: "text",
  clientId: "text",
  oidc: "jsonb",
  api: "jsonb?",
  isApi: "boolean",
  isDocument: "boolean",
  active: "boolean",
  ...history,
} as const;

/** An application's columns other than the id, from which its row, select lists and inserts derive. */
export const applicationRow = { ...read, complianceProblems: "text[]?", complianceVersion: "bigint?" } as const;

export type ApplicationRow = RowOf<typeof read> & {
  readonly id: string;
  readonly hasKey: boolean;
  /** When the client secret before the current one expires, or expired. */
  readonly replacedUntil: Date | null;
};

/** The columns of an application other than its id. */
export const listedColumns = `${selected("a", Object.keys(read), { lines: ["active"], indent: 4 })},
    exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
    (select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil"`;

export const applicationColumns = `a.app_id as id, ${listedColumns}`;

/** Composes the insert of an application. */
export const applicationInserted = insertOf({ table: "applications", id: "app_id" }, applicationRow);
