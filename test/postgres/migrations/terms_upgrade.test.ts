import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { migrate } from "../../../src/postgres/migrate.ts";
import { freshDatabase } from "../../database.ts";
import { openClient } from "../../fixture/database_client.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const migrations = new URL("../../../src/postgres/migrations", import.meta.url).pathname;

const rows = `
  insert into organizations (organization_id, name, version, created, changed) values ('o', 'Größe & Co.', 1, now(), now());
  insert into users (owner, user_id, kind, username, given_name, family_name, email, phone, version, created, changed)
  values ('o', 'u', 'human', 'ada.b', 'Ada', 'Byron-King', 'ada@example.com', '+41446681800', 1, now(), now());
  insert into projects (owner, project_id, name, version, created, changed) values ('o', 'p', 'My Shop', 1, now(), now());
  insert into project_roles (owner, project_id, role_key, display_name) values ('o', 'p', 'reader', 'Who reads');
  insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
  values ('o', 'a', 'p', 'Web ﬁne', 'c', '{}', 1, now(), now());
  insert into members (owner, member_id, user_id, scope, scope_id, roles, version, created, changed)
  values ('o', 'm', 'u', 'organization', 'o', '{ORG_OWNER,ORG_VIEWER}', 1, now(), now());`;

const isLater = (path: string) => path.endsWith(".sql") && basename(path) >= "0012";

test("rows of an earlier release have the terms that they would be written with today", async () => {
  await using before = await freshDatabase({ empty: true });
  const folder = await mkdtemp(join(tmpdir(), "postern-migrations-"));
  await cp(migrations, folder, { recursive: true, filter: (path) => !isLater(path) });
  await migrate({ url: before.url, log, folder });
  await rm(folder, { recursive: true });
  await using old = openClient(before.url);
  await old.client.unsafe(rows);
  await migrate({ url: before.url, log });
  await using after = await freshDatabase();
  await using fresh = openClient(after.url);
  await fresh.client.unsafe(rows);
  const terms = "select noun, scope, object_id, term from terms order by 1, 2, 3, 4";
  const filled = await old.client.unsafe<{ noun: string; term: string }[]>(terms);
  expect(filled).toEqual([...(await fresh.client.unsafe(terms))]);
  const words = "select username, words from users union all select name, words from organizations";
  expect(await old.client.unsafe(words)).toEqual([...(await fresh.client.unsafe(words))]);
  const of = (noun: string) => filled.filter((one) => one.noun === noun).map(({ term }) => term);
  expect(of("user")).toEqual(["41446681800", "ada", "b", "byron", "com", "example", "king"]);
  expect(of("organization")).toEqual(["co", "große"]);
  expect(of("application")).toEqual(["fine", "web"]);
  expect(of("member")).toEqual(["ORG_OWNER", "ORG_VIEWER"]);
});
