import { expect, test } from "vitest";
import { applicationRow } from "../../src/services/applications/application_row.ts";
import { domainRow } from "../../src/services/domains/domain_row.ts";
import { invitationRow } from "../../src/services/invitations/invitation_row.ts";
import { organizationRow } from "../../src/services/organizations/organization_row.ts";
import { projectRow } from "../../src/services/projects/project_row.ts";
import { type Columns, columnOf } from "../../src/services/reading/row.ts";
import { subscriptionRow } from "../../src/services/subscriptions/subscription_row.ts";
import { userGrantRow } from "../../src/services/user_grants/user_grant_row.ts";
import { userRow } from "../../src/services/users/user_row.ts";
import { sharedPostern } from "../harness.ts";
import { openProbe } from "../probe.ts";

/** A row, its table, and the columns of the table that the row leaves out. */
type Stated = { readonly table: string; readonly row: Columns; readonly others: readonly string[] };

// Triggers write `words` and `name_key`, which only lists and indexes read. The views leave out rows that are being deleted or erased.
const rows: readonly Stated[] = [
  { table: "all_users", row: userRow, others: ["user_id", "words", "deleted", "erasure_date"] },
  { table: "organizations", row: organizationRow, others: ["organization_id", "words", "name_key", "deleted"] },
  { table: "all_projects", row: projectRow, others: ["project_id", "words", "name_key", "deleted"] },
  { table: "applications", row: applicationRow, others: ["app_id", "words", "name_key"] },
  { table: "user_grants", row: userGrantRow, others: ["user_grant_id"] },
  { table: "domains", row: domainRow, others: ["domain_id"] },
  { table: "invitations", row: invitationRow, others: ["invitation_id"] },
  { table: "subscriptions", row: subscriptionRow, others: ["subscription_id"] },
];

test.each(rows)(
  "the row of $table has the columns of its table, with their types, and null where the table allows it",
  async ({ table, row, others }) => {
    const postern = await sharedPostern();
    await using probe = openProbe(postern.databaseUrl);
    const columns = await probe.sql<{ name: string; type: string }[]>`
    select attname as name, atttypid::regtype::text || case when attnotnull then '' else '?' end as type
    from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`;
    const short = (type: string) => type.replace("timestamp with time zone", "timestamptz");
    const there = new Map(columns.map(({ name, type }) => [name, short(type)]));
    for (const name of others) expect(there.delete(name)).toBe(true);
    expect(Object.fromEntries(there)).toEqual(
      Object.fromEntries(Object.entries(row).map(([name, type]) => [columnOf(name), type])),
    );
  },
);
