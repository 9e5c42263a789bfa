import { expect, test } from "vitest";
import { factOf, first, type NewFact, next } from "../../src/events/fact.ts";
import { rebuild } from "../../src/events/rebuild.ts";
import { schemasOf } from "../../src/events/rebuild_tables.ts";
import { folds as allFolds } from "../../src/runtime/modules.ts";
import { foreignApplication } from "../fixture/connection.ts";
import { openClient } from "../fixture/database_client.ts";
import { signedUp, startPostern } from "../harness.ts";
import { answerIn, authorizeUrl, signIn } from "../provider/application.ts";
import { openBrowser } from "../provider/browser.ts";
import { folds, oneConnection, openTestLog, organizationCreated, somebody, unique } from "./log_of.ts";

test("the log replayed gives the tables there are, also when a name passes from one object to another", async () => {
  await using opened = await openTestLog();
  const owner = organizationCreated();
  await opened.log.append(somebody(), [owner], {});
  for (const fact of history(owner.at.stream)) await opened.log.append(somebody(), [fact], {});
  await using client = oneConnection(opened.url);
  expect(await client.sql`select from projects`).toHaveLength(20);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
  expect(await client.sql`select from projects`).toHaveLength(20);
});

/** Projects that are made, changed and deleted under few names. */
function history(owner: string): NewFact[] {
  return Array.from({ length: 100 }, (_, at) => {
    const created = first(owner, unique("p"), new Date());
    const row = { owner, id: created.stream, version: 1n, created: created.time, changed: created.time };
    const roleAdded = next(row, new Date());
    const deleted = next({ ...row, version: 2n }, new Date());
    return [
      factOf("project", created, { case: "created", value: { name: `name ${at % 20}` } }),
      factOf("project", roleAdded, { case: "roleAdded", value: { key: "admin", displayName: "Admin" } }),
      ...(at < 80 ? [factOf("project", deleted, { case: "deleted", value: {} })] : []),
    ];
  }).flat();
}

test("a replay drops neither another schema of that name nor that of the service, however long its name is", async () => {
  await using opened = await openTestLog();
  await using client = oneConnection(opened.url);
  await client.sql.unsafe("create schema public_replayed; create table public_replayed.of_somebody ()");
  await expect(rebuild(client.sql, folds)).rejects.toThrow("already exists");
  expect(await client.sql`select from public_replayed.of_somebody`).toEqual([]);
  for (const name of ["Odd name", "s".repeat(63), "é".repeat(31)]) {
    await client.sql.unsafe(`create schema "${name}"`);
    await client.sql.unsafe(`set search_path = "${name}"`);
    const { schema, replayed } = await schemasOf(client.sql);
    await client.sql.unsafe(`drop schema if exists ${replayed} cascade`);
    expect(await client.sql`select current_schema() = ${name} as is`).toEqual([{ is: true }]);
    await client.sql.unsafe(`create table ${schema}.one (); create schema ${replayed}`);
    expect(await client.sql`select to_regnamespace(${replayed}) <> to_regnamespace(${schema}) as is`).toEqual([
      { is: true },
    ]);
  }
});

test("a row that was changed, removed or added by hand is found", async () => {
  await using opened = await openTestLog();
  const [ada, bob] = [organizationCreated("Ada"), organizationCreated("Bob")];
  await opened.log.append(somebody(), [ada, bob], {});
  await using client = oneConnection(opened.url);
  await client.sql`update organizations set name = 'Eve' where organization_id = ${ada.at.stream}`;
  await client.sql`delete from organizations where organization_id = ${bob.at.stream}`;
  const { equal, differences } = await rebuild(client.sql, folds);
  expect(equal).toBe(false);
  expect(differences).toMatchObject([
    { table: "organizations", rows: 3, extra: [{ name: "Eve" }] },
    { table: "terms", extra: [{ term: "eve" }] },
  ]);
  expect(differences[0]?.missing).toHaveLength(2);
});

test("a fact that took a name before the fact that gave it up stands in the log is replayed all the same", async () => {
  await using opened = await openTestLog();
  await using client = oneConnection(opened.url);
  const owner = organizationCreated();
  await opened.log.append(somebody(), [owner], {});
  const id = owner.at.stream;
  await client.sql`
    insert into events (owner, stream, version, type, payload, request_id, time)
    select ${id}, stream, version, type, payload, 'request', '2026-01-01'
    from (values
      (1, 'old', 1, 'project.created', '{"name": "Name"}'::jsonb),
      (2, 'new', 1, 'project.created', '{"name": "Name"}'),
      (3, 'new', 2, 'project.role_added', '{"key": "a", "displayName": "A"}'),
      (4, 'old', 2, 'project.deleted', '{}')) e (n, stream, version, type, payload) order by n`;
  await client.sql`
    insert into projects (owner, project_id, name, version, created, changed)
    values (${id}, 'new', 'Name', 2, '2026-01-01', '2026-01-01')`;
  await client.sql`insert into project_roles (owner, project_id, role_key, display_name) values (${id}, 'new', 'a', 'A')`;
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});

test("names that pass between few objects a thousand times are replayed in their order, in few statements", async () => {
  await using opened = await openTestLog();
  const owner = organizationCreated();
  await opened.log.append(somebody(), [owner], {});
  let statements = 0;
  await using database = openClient(opened.url, () => statements++);
  const { moves, names } = movesOf(1_000);
  await database.client`
    insert into events (owner, stream, version, type, payload, request_id, time)
    select ${owner.at.stream}, stream, version, type, jsonb_build_object('name', name), 'request', '2026-01-01'
    from rows from (jsonb_to_recordset(${JSON.stringify(moves)}::text::jsonb)
      as (stream text, version bigint, type text, name text)) with ordinality m order by ordinality`;
  await database.client`
    insert into projects (owner, project_id, name, version, created, changed)
    select ${owner.at.stream}, key, value->>'name', (value->>'version')::bigint, '2026-01-01', '2026-01-01'
    from jsonb_each(${JSON.stringify(names)}::text::jsonb)`;
  statements = 0;
  expect(await rebuild(database.client, folds)).toEqual({ equal: true, differences: [] });
  expect(statements).toBeLessThan(500);
  const [taken] = await database.client<{ projectId: string }[]>`
    update projects set version = version + 1 where name = 'name 0' or name = 'name 1' returning project_id as "projectId"`;
  expect(taken).toBeDefined();
  expect((await rebuild(database.client, folds)).differences.map(({ table }) => table)).toEqual(["projects"]);
});

type Move = { readonly stream: string; readonly version: number; readonly type: string; readonly name: string };

/**
 * Moves of nine names between eight projects, each to the one that is free. Now and then the project that takes a name stands in
 * the log before the one that gives it up.
 */
function movesOf(count: number) {
  const names: Record<string, { name: string; version: number }> = {};
  const moves: Move[] = Array.from({ length: 8 }, (_, at) => {
    names[`project ${at}`] = { name: `name ${at}`, version: 1 };
    return { stream: `project ${at}`, version: 1, type: "project.created", name: `name ${at}` };
  });
  let free = "name 8";
  for (let n = 0; n < count; n++) {
    const [stream, before] = Object.entries(names)[(n * n + (n >> 3)) % 8] ?? [];
    if (!stream || !before) continue;
    names[stream] = { name: free, version: before.version + 1 };
    moves.push({ stream, version: before.version + 1, type: "project.changed", name: free });
    free = before.name;
    const [one, other] = moves.slice(-2);
    if (n % 100 === 99 && one && other && one.stream !== other.stream) moves.splice(-2, 2, other, one);
  }
  return { moves, names };
}

test("a replay that was stopped goes on where it was, unless the log has another history now", async () => {
  await using opened = await openTestLog();
  for (let round = 0; round < 5; round++)
    await opened.log.append(
      somebody(),
      Array.from({ length: 500 }, () => organizationCreated()),
      {},
    );
  await using client = oneConnection(opened.url);
  const stopped = () =>
    rebuild(client.sql, folds, () => {
      throw new Error("stopped");
    });
  const replayedFrom = async () => {
    const at: bigint[] = [];
    expect((await rebuild(client.sql, folds, (replayed) => at.push(replayed.at))).equal).toBe(true);
    return at[0];
  };
  await expect(stopped()).rejects.toThrow("stopped");
  await opened.log.append(somebody(), [organizationCreated()], {});
  expect(await replayedFrom()).toBe(2_000n);
  await expect(stopped()).rejects.toThrow("stopped");
  await client.sql`update event_batches set id = 'of another branch' where first <= 1000`;
  expect(await replayedFrom()).toBe(1_000n);
  expect(await client.sql`select from pg_namespace where nspname like '%replayed'`).toEqual([]);
});

test("events that somebody has deleted, the last one too, are missed in the tables of the replay", async () => {
  await using opened = await openTestLog();
  const [kept, gone] = [organizationCreated("Kept"), organizationCreated("Gone")];
  await opened.log.append(somebody(), [kept], {});
  await opened.log.append(somebody(), [gone], {});
  await using client = oneConnection(opened.url);
  expect((await rebuild(client.sql, folds)).equal).toBe(true);
  await client.sql`alter table events disable trigger events_are_kept`;
  await client.sql`delete from events where stream = ${gone.at.stream}`;
  const { differences } = await rebuild(client.sql, folds);
  expect(differences[0]).toMatchObject({ table: "organizations", rows: 1, extra: [{ name: "Gone" }] });
});

test("a rebuild sees one moment while others write", async () => {
  await using opened = await openTestLog();
  await using client = oneConnection(opened.url);
  await Promise.all(Array.from({ length: 300 }, () => opened.log.append(somebody(), [organizationCreated()], {})));
  let writing = true;
  const writer = (async () => {
    while (writing) await opened.log.append(somebody(), [organizationCreated()], {});
  })();
  for (let round = 0; round < 3; round++) expect((await rebuild(client.sql, folds)).equal).toBe(true);
  writing = false;
  await writer;
});

test("sessions whose time is over may be there or not, others may not be missing", async () => {
  await using postern = await startPostern();
  const people = await Promise.all([signedUp(postern), signedUp(postern), signedUp(postern)]);
  const [over, swept, lasting] = people.map(({ userId }) => userId);
  await using client = oneConnection(postern.databaseUrl);
  const { sql } = client;
  // As if they had been signed in long ago: the log says the same as the table.
  await sql`alter table events disable trigger events_are_kept`;
  await sql`
    update events set payload = payload || '{"expirationDate": "2021-01-01T00:00:00Z"}'
    where type = 'session.created' and payload->>'userId' in (${over ?? ""}, ${swept ?? ""})`;
  await sql`update sessions set expiration_date = '2021-01-01' where user_id in (${over ?? ""}, ${swept ?? ""})`;
  await sql`delete from sessions where user_id = ${swept ?? ""}`;
  expect(await rebuild(sql, allFolds)).toEqual({ equal: true, differences: [] });
  await sql`delete from sessions where user_id = ${lasting ?? ""}`;
  expect((await rebuild(sql, allFolds)).differences).toMatchObject([{ table: "sessions", rows: 1 }]);
});

test("a deletion takes along what was made after another deletion, and what was allowed meanwhile", async () => {
  await using postern = await startPostern();
  const person = await signedUp(postern);
  const other = await signedUp(postern);
  const app = await foreignApplication(postern, postern.organizationId);
  const browser = openBrowser(postern.url);
  const question = await signIn(browser, authorizeUrl(postern.url, app, { scope: "openid" }), person);
  // Between the two deletions no fact is about an object of an earlier one: nothing but the deletions cuts the log there.
  await postern.admin.delete(`/v1/users/${other.userId}`);
  answerIn(await browser.submit(question, {}, "allow"));
  await postern.admin.delete(`/v1/users/${person.userId}`);
  await using client = oneConnection(postern.databaseUrl);
  expect(await client.sql`select from events where type = 'consent.given'`).toHaveLength(1);
  expect(await client.sql`select from consents`).toHaveLength(0);
  expect(await rebuild(client.sql, allFolds)).toEqual({ equal: true, differences: [] });
});
