import { expect, test } from "vitest";
import { findingsQuestion } from "../../../src/services/user_grants/add_user_grant.ts";
import { openClient } from "../../fixture/database_client.ts";
import { planAsTheService } from "../../plans/plan.ts";
import type { PlanServer } from "../plan_server.ts";

// One user has a grant in each of many projects, some of which were granted to the organization; another has none.
const filling = `
  insert into organizations (organization_id, name, version, created, changed)
  select 'o' || n, 'Organization ' || n, 1, now(), now() from generate_series(0, 1) n;
  insert into users (owner, user_id, kind, username, given_name, family_name, version, created, changed)
  select 'o0', id, 'human', id, 'Ada', 'Byron', 1, now(), now() from unnest(array['many', 'none']) id;
  insert into projects (owner, project_id, name, version, created, changed)
  select 'o' || n % 2, 'p' || n, 'Project ' || n, 1, now(), now() from generate_series(10000, 19999) n;
  insert into project_grants (owner, project_grant_id, project_id, granted_organization_id, version, created, changed)
  select 'o1', 'g' || n, 'p' || n, 'o0', 1, now(), now() from generate_series(10001, 19999, 2) n;
  insert into user_grants (owner, user_grant_id, user_id, project_id, project_grant_id, version, created, changed)
  select 'o0', 'ug' || n, 'many', 'p' || n, case n % 2 when 1 then 'g' || n end, 1, now(), now()
  from generate_series(10000, 19999) n where n <> 10002;
  vacuum analyze`;

type Explained = { readonly "QUERY PLAN": readonly [{ readonly Plan: Readonly<Record<string, number>> }] };
type Wanted = Readonly<Record<"user" | "project" | "grant", string>>;

/** Declares the test on a server. */
export function grantPlans(server: () => PlanServer): void {
  test("whether a user has a grant already is read by its key, however many others there are", async () => {
    const { url } = await server().fresh();
    await using database = openClient(url);
    const sql = database.client;
    for (const statement of filling.split(";")) await sql.unsafe(statement);
    await planAsTheService(sql);

    const textFor = ({ user, project, grant }: Wanted) => `
      with asked as materialized (
        select 0 as n, 'o0'::text as owner, '${user}'::text as user_id, '${project}'::text as project_id,
          '${grant}'::text as project_grant_id, array['r'] as role_keys)
      ${findingsQuestion.select}`;
    const blocksFor = async (wanted: Wanted): Promise<number> => {
      // The first one reads what the connection has not cached of the catalog.
      await sql.unsafe(textFor(wanted));
      const [row] = await sql.unsafe(`explain (analyze, buffers, format json) ${textFor(wanted)}`);
      const { Plan } = (row as unknown as Explained)["QUERY PLAN"][0];
      return (Plan["Shared Hit Blocks"] ?? 0) + (Plan["Shared Read Blocks"] ?? 0);
    };
    const existing = async (wanted: Wanted) => (await sql.unsafe(textFor(wanted)))[0]?.existing;

    for (const [project, grant, found] of [
      ["p10000", "", "ug10000"],
      ["p10002", "", null],
      ["p10001", "g10001", "ug10001"],
      ["p10001", "g10002", null],
      ["p19998", "", "ug19998"],
      ["p10001", "", null],
    ] as const) {
      expect(await existing({ user: "many", project, grant })).toBe(found);
      expect(await existing({ user: "none", project, grant })).toBe(null);
      const [many, none] = [
        await blocksFor({ user: "many", project, grant }),
        await blocksFor({ user: "none", project, grant }),
      ];
      expect(many, `${project} ${grant}`).toBeLessThanOrEqual(none + 2);
    }
  }, 300_000);
}
