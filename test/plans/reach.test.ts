import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ListUserGrantsRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import { type Deps, keys, type Reach } from "../../src/deps.ts";
import { mostRead } from "../../src/services/reading/page.ts";
import { userGrantService } from "../../src/services/user_grants/user_grant.ts";
import { openClient } from "../fixture/database_client.ts";
import { type Postern, startPostern } from "../harness.ts";
import { askedBy, callIn, found, planAsTheService } from "./plan.ts";

let postern: Postern;
let sql: ReturnType<typeof openClient>;
beforeAll(async () => {
  postern = await startPostern();
  sql = openClient(postern.databaseUrl);
  await sql.client.unsafe(filling);
  await sql.client.unsafe("vacuum analyze");
  await planAsTheService(sql.client);
});
afterAll(async () => {
  await sql?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const projects = Array.from({ length: 10 }, (_, n) => `p${n}`);

// Grants in turn in each project; all end, and every hundredth of them soon.
const filling = `
  insert into organizations (organization_id, name, version, created, changed) values ('o1', 'Acme', 1, now(), now());
  insert into users (owner, user_id, kind, username, version, created, changed)
    select 'o1', 'u' || n, 'machine', 'u' || n, 1, now(), now() from generate_series(0, 999) n;
  insert into projects (owner, project_id, name, version, created, changed)
    select 'o1', 'p' || n, 'Project ' || n, 1, now(), now() from generate_series(0, 9) n;
  insert into user_grants (owner, user_grant_id, user_id, project_id, expiration_date, version, created, changed)
    select 'o1', 'g' || to_char(n, 'FM00000'), 'u' || n / 10, 'p' || n % 10,
      case when n % 97 = 0 then timestamptz '2098-01-01' else timestamptz '2100-01-01' end, 1, now(), now()
    from generate_series(0, 9999) n;`;

const nothing = () => expect.fail("nothing is written");
const noLog = { append: nothing, appendLong: nothing, appendIf: nothing };

type Asked = MessageInitShape<typeof ListUserGrantsRequestSchema>;
type Page = { readonly userGrants: readonly { readonly id: string }[]; readonly nextPageToken: string };

function listed(parts: Omit<Deps, "log">, request: Asked, reach: Reach): Promise<Page> {
  const call = callIn("o1", postern.adminId);
  call.values.set(keys.reach, reach);
  const asked = create(ListUserGrantsRequestSchema, request);
  return userGrantService({ ...parts, log: noLog }).listUserGrants(asked, call) as Promise<Page>;
}

test("a list within reach of many projects reads no more for a filter than a list of all, and finds as much", async () => {
  const expiresBefore = timestampFromDate(new Date("2099-01-01"));
  const within: Reach = { whole: false, organizations: [], projects, projectGrants: [] };
  const idsOf = async (reach: Reach, pageSize: number) => {
    const ids: string[] = [];
    const statements = await askedBy(postern.databaseUrl, async (parts) => {
      for (let pageToken = ""; ; ) {
        const page = await listed(parts, { expiresBefore, pageSize, pageToken }, reach);
        ids.push(...page.userGrants.map(({ id }) => id));
        pageToken = page.nextPageToken;
        if (!pageToken) return;
      }
    });
    const [first] = statements;
    if (!first) throw new Error("nothing was asked");
    return { ids, rows: (await found(sql.client, first)).rows };
  };
  const all = await idsOf({ whole: true }, 50);
  expect(all.ids).toHaveLength(104);
  for (const pageSize of [1, 7, 50]) {
    const some = await idsOf(within, pageSize);
    expect(some.ids).toEqual(all.ids);
    expect(some.rows).toBeLessThan(1.5 * mostRead);
  }
});
