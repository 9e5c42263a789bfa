// Most organizations have one application, and one has a thousand: the planner expects one wherever it looks up those of an organization.

import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GetApplicationRequestSchema, ListApplicationKeysRequestSchema } from "../../gen/postern/v1/application_pb.ts";
import type { Deps } from "../../src/deps.ts";
import { explainedRead } from "../../src/provider/explanations/explained_read.ts";
import { clientRead } from "../../src/provider/tokens/grant_read.ts";
import { applicationService } from "../../src/services/applications/application.ts";
import { applicationKeys } from "../../src/services/applications/application_key.ts";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
import { askedBy, callIn, found, planAsTheService } from "./plan.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let opened: ReturnType<typeof openClient>;
beforeAll(async () => {
  database = await freshDatabase();
  opened = openClient(database.url);
  const { client } = opened;
  await planAsTheService(client);
  await client.unsafe(`
    insert into organizations (organization_id, name, version, created, changed)
    select 'o' || n, 'Organization ' || n, 1, now(), now() from generate_series(0, 2000) n;
    insert into all_projects (owner, project_id, name, version, created, changed)
    select 'o' || n, 'p' || n, 'Project', 1, now(), now() from generate_series(0, 2000) n;
    insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
    select 'o' || least(n, 2000), 'a' || n, 'p' || least(n, 2000), 'App ' || n, 'c' || n, '{}', 1, now(), now()
    from generate_series(1, 3000) n;
    insert into client_ids (client_id, owner, app_id) select client_id, owner, app_id from applications`);
  await client.unsafe("vacuum analyze");
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

type Read = (parts: Omit<Deps, "log">) => Promise<unknown>;

const call = () => callIn("o2000", "admin");
const named = { projectId: "p2000", appId: "a2700" };
const now = new Date().toISOString();

const reads: readonly [string, Read][] = [
  ["an application", (deps) => service(deps).getApplication(create(GetApplicationRequestSchema, named), call())],
  [
    "its keys",
    (deps) =>
      applicationKeys({ ...deps, log: noLog }).listApplicationKeys(
        create(ListApplicationKeysRequestSchema, named),
        call(),
      ),
  ],
  ["a client", ({ sql }) => clientRead(sql)("c2700", new Date())],
  [
    "why somebody may sign in to it",
    ({ sql }) =>
      explainedRead(sql)(
        { owner: "o2000", project: "p2000", app: "a2700", user: "nobody", organization: null, now },
        call().signal,
      ),
  ],
];

const nothing = () => expect.fail("nothing is written");
const noLog = { append: nothing, appendLong: nothing, appendIf: nothing };
const service = (deps: Omit<Deps, "log">) => applicationService({ ...deps, log: noLog });

test.each(reads)("%s costs as much whoever has a thousand applications", async (_name, read) => {
  const statements = await askedBy(database.url, read);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements) {
    const { rows } = await found(opened.client, statement);
    expect(rows, statement.text).toBeLessThanOrEqual(10);
  }
});
