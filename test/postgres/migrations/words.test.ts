import { expect, test } from "vitest";
import { freshDatabase } from "../../database.ts";
import { openClient } from "../../fixture/database_client.ts";

const many = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`);

// Of each text the first 17 pieces count, of which the first is empty where it begins with a sign.
const texts: readonly (readonly (string | null)[])[] = [
  ["Ada.Byron", "Ada", "Byron-King", "ada@example.com", "+41446681800", null],
  [null, null],
  [""],
  ["", " - ", null],
  ["B a C", "c A b"],
  [many(16).join(" ")],
  [many(17).join(" ")],
  [many(18).join(" ")],
  [`(${many(16).join(" ")}`],
  [`(${many(17).join(" ")}`],
  [many(9).join("."), many(9).join("-"), "other words"],
  ["x".repeat(49), "x".repeat(50), "x".repeat(51), `${"x".repeat(250)}y`],
  [String.fromCharCode(...Array.from({ length: 126 }, (_, n) => n + 1))],
  ["Größe & Co.", "GROSSE"],
  ["İstanbul", "ﬁne", "x²", "Ω", "日本 語"],
  ["a\u00a0b", "a\u2003b", "a\u0301 b"],
];

test("the words of a row are those of its texts, by whichever way they are found", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  for (const one of texts) {
    const [row] = await sql.client.unsafe<{ found: string | null; expected: string | null }[]>(
      `select words_in(variadic t.texts) as found, (
         select ' ' || string_agg(word, ' ' order by word collate "C") || ' '
         from (select distinct word from unnest(t.texts) as value cross join words_of(value) as word) w) as expected
       from (select array(select jsonb_array_elements_text($1::text::jsonb)) as texts) t`,
      [JSON.stringify(one)],
    );
    expect(row?.found).toBe(row?.expected);
  }
});

const changes = [
  `insert into organizations (organization_id, name, version, created, changed) values ('o', 'Größe & Co.', 1, now(), now())`,
  `insert into users (owner, user_id, kind, username, given_name, family_name, version, created, changed)
   select 'o', 'u' || n, 'human', 'user' || n, 'Ada Ada', 'Byron ' || n, 1, now(), now() from generate_series(1, 5) n`,
  `insert into users (owner, user_id, kind, username, version, created, changed) values ('o', 'u6', 'machine', '-', 1, now(), now())`,
  `insert into projects (owner, project_id, name, version, created, changed) values ('o', 'p', 'My Shop', 1, now(), now())`,
  `insert into project_roles (owner, project_id, role_key, display_name) values ('o', 'p', 'reader', 'Who reads')`,
  `insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
   select 'o', 'a' || n, 'p', 'Web ' || n, 'c' || n, '{}', 1, now(), now() from generate_series(1, 3) n`,
  `insert into members (owner, member_id, user_id, scope, scope_id, roles, version, created, changed)
   values ('o', 'm', 'u1', 'organization', 'o', '{ORG_OWNER,ORG_VIEWER}', 1, now(), now())`,
  `update users set given_name = 'Grace', owner = 'o' where user_id in ('u1', 'u2', 'u6')`,
  `update organizations set name = 'Other'`,
  `update projects set name = 'Your Shop'`,
  `update project_roles set display_name = 'Nobody'`,
  `update applications set name = 'App ' || app_id where app_id <> 'a1'`,
  `update members set roles = '{ORG_VIEWER}'`,
  "delete from users where user_id = 'u3'",
  "delete from applications where app_id in ('a1', 'a3')",
  "delete from members",
  "delete from users where user_id in ('u1', 'u2')",
];

const expected = `
  select 'user' as noun, owner as scope, user_id as object_id, word as term
  from users cross join string_to_table(btrim(words), ' ') word
  union all select 'organization', '', organization_id, word from organizations cross join string_to_table(btrim(words), ' ') word
  union all select 'project', owner, project_id, word from projects cross join string_to_table(btrim(words), ' ') word
  union all select 'role', project_id, role_key, word from project_roles cross join string_to_table(btrim(words), ' ') word
  union all select 'application', project_id, app_id, word from applications cross join string_to_table(btrim(words), ' ') word
  union all select 'application_of_organization', owner, app_id, word
    from applications cross join string_to_table(btrim(words), ' ') word
  union all select 'member', scope_id, member_id, role from members cross join unnest(roles) role
  order by 1, 2, 3, 4`;

test("the terms are the words of the rows after each insert, update and delete", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  for (const change of changes) {
    await sql.client.unsafe(change);
    const terms = await sql.client.unsafe("select noun, scope, object_id, term from terms order by 1, 2, 3, 4");
    expect([...terms], change).toEqual([...(await sql.client.unsafe(expected))]);
  }
  expect(await sql.client.unsafe("select from terms where object_id = 'u4'")).toHaveLength(4);
});

test("a dump can be restored: it has the words of rows, and words are found without a search path", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  // pg_dump restores tables so, with their triggers after them. It leaves out columns that are generated.
  await sql.client.unsafe(
    `select set_config('search_path', '', false); alter table public.organizations disable trigger user`,
  );
  await sql.client.unsafe(
    `insert into public.organizations (organization_id, name, words, version, created, changed)
     values ('a', 'Acme & Co.', ' acme co ', 1, now(), now()), ('g', 'Größe', public.words_in('Größe'), 1, now(), now())`,
  );
  expect(await sql.client.unsafe("select words from public.organizations order by name")).toEqual([
    { words: " acme co " },
    { words: " große " },
  ]);
});
