import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { GetNamesRequestSchema } from "../../../gen/postern/v1/name_pb.ts";
import { keys, type Membership } from "../../../src/deps.ts";
import { nameService } from "../../../src/services/names/name.ts";
import { openClient } from "../../fixture/database_client.ts";
import { askedBy, callIn, found, planAsTheService } from "../../plans/plan.ts";
import type { PlanServer } from "../plan_server.ts";

// A hundred organizations; o1 has a hundredth of the objects, and was granted a project by each of the others.
const filling = `
  insert into organizations (organization_id, name, version, created, changed)
  select 'o' || n, 'Organization ' || n, 1, now(), now() from generate_series(0, 99) n;
  insert into users (owner, user_id, kind, username, given_name, family_name, version, created, changed)
  select 'o' || n % 100, 'u' || n, 'human', 'u' || n, 'Ada', 'Byron', 1, now(), now() from generate_series(1, 10000) n;
  insert into projects (owner, project_id, name, version, created, changed)
  select 'o' || n % 100, 'p' || n, 'Project ' || n, 1, now(), now() from generate_series(1, 10000) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
  select 'o' || n % 100, 'a' || n, 'p' || n, 'Application', 'c' || n, '{}', 1, now(), now() from generate_series(1, 10000) n;
  insert into project_grants (owner, project_grant_id, project_id, granted_organization_id, version, created, changed)
  select 'o' || n % 100, 'g' || n, 'p' || n, 'o' || (n % 100 + n / 100 % 99 + 1) % 100, 1, now(), now()
  from generate_series(1, 10000) n`;

const organization = "o1";
const held = {
  instance: { scope: "instance", id: "i", organization: "i", roles: ["INSTANCE_VIEWER"] },
  organization: { scope: "organization", id: organization, organization, roles: ["ORG_VIEWER"] },
  project: { scope: "project", id: "p1", organization, project: "p1", roles: ["PROJECT_OWNER"] },
  "project grant": {
    scope: "project_grant",
    id: "g100",
    organization,
    project: "p100",
    roles: ["PROJECT_GRANT_OWNER"],
  },
} as const satisfies Record<string, Membership>;

const hundred = Array.from({ length: 100 }, (_, n) => n);
const numbered = (kinds: string, number: (n: number) => number) =>
  [...kinds].flatMap((kind) => hundred.map((n) => `${kind}${number(n)}`));
const own = [...numbered("upag", (n) => 100 * n + 1), "o1"];
const foreign = numbered("uap", (n) => 100 * n + 7);
const missing = numbered("uap", (n) => 100_000 + n);

/** Declares the test on a server. */
export function namePlans(server: () => PlanServer): void {
  test("a name is read by its key, by plans of an empty database and of a full one", async () => {
    const { url, adminId } = await server().fresh();
    await using database = openClient(url);
    const sql = database.client;
    await sql.unsafe(filling);
    await planAsTheService(sql);

    const reads = async (membership: Membership, ids: readonly string[]) => {
      const call = callIn(organization, adminId);
      call.values.set(keys.caller, { userId: adminId, organization, memberships: [membership] });
      const request = create(GetNamesRequestSchema, { ids: [...ids] });
      const sent = await askedBy(url, async ({ sql: asked }) => nameService({ sql: asked }).getNames(request, call));
      expect(sent).toHaveLength(1);
      const [statement = { text: "", parameters: [] }] = sent;
      return { ...(await found(sql, statement)), text: statement.text };
    };

    for (const plans of ["of an empty database", "of a full one"]) {
      if (plans === "of a full one") await sql.unsafe("vacuum analyze");
      for (const [scope, membership] of Object.entries(held)) {
        const { whole, rows, text } = await reads(membership, own);
        expect(whole, text).toEqual([]);
        // Of each object its row, its organization or project, and the row of what asks.
        expect(rows, `${plans}, ${scope}: ${text}`).toBeLessThan(6 * own.length);
        if (scope === "instance") continue;
        // Of what others have, no more than its row is read.
        expect((await reads(membership, foreign)).rows, scope).toBeLessThanOrEqual(foreign.length);
        expect((await reads(membership, missing)).rows, scope).toBe(0);
      }
    }
  }, 300_000);
}
