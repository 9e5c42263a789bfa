import { expect, test } from "vitest";
import { newId } from "../../src/deps.ts";
import { reasonOf } from "../../src/errors.ts";
import { factOf, first, next, type Versioned } from "../../src/events/fact.ts";
import { type CommandOrigin, openLog } from "../../src/events/log.ts";
import { isRecorded } from "../../src/events/overtaken.ts";
import { isStatementTimeout } from "../../src/postgres/failure.ts";
import { folds } from "../../src/runtime/modules.ts";
import { oneConnection, openTestLog, organizationCreated, somebody, unique } from "./log_of.ts";

async function withProject() {
  const opened = await openTestLog();
  const organization = organizationCreated();
  const projectAt = first(organization.at.stream, unique("p"), new Date());
  await opened.log.append(somebody(), [organization], {});
  await opened.log.append(somebody(), [factOf("project", projectAt, { case: "created", value: { name: "P" } })], {});
  const row = { ...projectAt, id: projectAt.stream, created: projectAt.time, changed: projectAt.time };
  const roleAdded = (key: string) =>
    factOf("project", next(row, new Date()), { case: "roleAdded", value: { key, displayName: key } });
  return { ...opened, [Symbol.asyncDispose]: opened[Symbol.asyncDispose], projectId: row.id, roleAdded };
}

const ofAll = { folds, ids: newId, originOf: (origin: CommandOrigin) => origin };

const outcomes = async (commands: Promise<unknown>[]) =>
  (await Promise.allSettled(commands)).map((one) => (one.status === "fulfilled" ? "won" : reasonOf(one.reason)));

test("of 50 concurrent commands on one version exactly one wins, and the others are in conflict", async () => {
  await using opened = await withProject();
  const { log, sql, roleAdded, projectId } = opened;
  const keys = Array.from({ length: 50 }, (_, at) => `role${at}`);
  const ended = await outcomes(keys.map((key) => log.append(somebody(), [roleAdded(key)], {})));
  expect(ended.filter((one) => one === "won")).toHaveLength(1);
  expect(ended.filter((one) => one === "CONFLICT")).toHaveLength(49);
  expect(await sql`select version from projects where project_id = ${projectId}`).toEqual([{ version: 2n }]);
  expect(await sql`select role_key from project_roles where project_id = ${projectId}`).toHaveLength(1);
  expect(await sql`select version from events where stream = ${projectId}`).toHaveLength(2);
});

test("a command that fails harms nobody who shares its statement", async () => {
  await using opened = await openTestLog();
  const { log, sql, statements } = opened;
  await log.append(somebody(), [organizationCreated("taken")], {});
  const names = [...Array.from({ length: 30 }, () => unique("organization")), "taken"];
  statements.length = 0;
  const ended = await outcomes(names.map((name) => log.append(somebody(), [organizationCreated(name)], {})));
  expect(ended.filter((one) => one === "won")).toHaveLength(30);
  expect(ended.at(-1)).toBe("CONFLICT");
  expect(statements.length).toBeGreaterThan(30);
  expect(await sql`select from organizations`).toHaveLength(31);
  expect(await sql`select from events`).toHaveLength(31);
});

const roleOf = (project: Versioned, key: string) =>
  factOf("project", next(project, new Date()), { case: "roleAdded", value: { key, displayName: "" } });

/** Organizations with projects, whose rows a stranger's transaction may lock, and commands that add a role to each. */
async function withProjects(counts: Readonly<Record<string, number>>, options = {}) {
  const opened = await openTestLog(options);
  const organizations = new Map<string, string>();
  const made = Object.entries(counts).map(async ([name, count]) => {
    const organization = organizationCreated();
    const owner = organization.at.stream;
    organizations.set(name, owner);
    await opened.log.append(somebody(), [organization], {});
    const projects = Array.from({ length: count }, () => first(owner, unique("p"), new Date()));
    const created = projects.map((at) => factOf("project", at, { case: "created", value: { name: at.stream } }));
    await Promise.all(created.map((fact) => opened.log.append(somebody(), [fact], {})));
    return projects.map((at) => ({ ...at, name, id: at.stream, created: at.time, changed: at.time }));
  });
  const rows = (await Promise.all(made)).flat();
  const addRoles = () =>
    rows.map((row) => ({ owner: row.name, ended: opened.log.append(somebody(), [roleOf(row, "pilot")], {}) }));
  const stranger = oneConnection(opened.url);
  const hold = async (name: string) => {
    const owner = organizations.get(name) ?? "";
    await stranger.sql`begin`;
    await stranger.sql`select from all_projects where owner = ${owner} for update`;
  };
  const release = () => stranger.sql`rollback`;
  const close = async () => {
    await stranger[Symbol.asyncDispose]();
    await opened[Symbol.asyncDispose]();
  };
  return { ...opened, rows, addRoles, hold, release, [Symbol.asyncDispose]: close };
}

test("a row that somebody holds locked keeps the commands of others for about a second, and its own until it is free", async () => {
  await using opened = await withProjects({ locked: 3, free: 20 }, { statementTimeoutMs: 600_000 });
  await opened.hold("locked");
  const commands = opened.addRoles();
  const of = (owner: string) => commands.filter((one) => one.owner === owner).map(({ ended }) => ended);
  // A statement may take ten minutes: these end while the row is still locked.
  expect(await Promise.race([outcomes(of("free")), Promise.any(of("locked"))])).toEqual(of("free").map(() => "won"));
  await opened.release();
  expect(await outcomes(of("locked"))).toEqual(["won", "won", "won"]);
});

test("of commands that time out together one is tried again, and the others of its organization are refused with it", async () => {
  await using opened = await withProjects({ locked: 30, free: 5 }, { statementTimeoutMs: 2_000 });
  await opened.hold("locked");
  opened.statements.length = 0;
  const commands = opened.addRoles();
  const ended = await Promise.allSettled(commands.map(({ ended }) => ended));
  const lost = commands.map(({ owner }, at) => {
    const one = ended[at];
    return [owner, one?.status === "rejected" ? isStatementTimeout(one.reason) : "won"];
  });
  expect(lost).toEqual(commands.map(({ owner }) => [owner, owner === "locked" ? true : "won"]));
  expect(opened.statements.length).toBeLessThan(12);
});

test("commands that arrive together share statements", async () => {
  await using opened = await openTestLog();
  const { log, sql, statements } = opened;
  const commands = Array.from({ length: 200 }, () => log.append(somebody(), [organizationCreated()], {}));
  await Promise.all(commands);
  expect(statements.length).toBeLessThan(10);
  expect(await sql`select from organizations`).toHaveLength(200);
});

test("commands that lose a race for a version while they wait fail no statement of others", async () => {
  await using opened = await withProjects({ hot: 1, other: 20 });
  const { log, sql, statements, rows, addRoles } = opened;
  const hot = rows.filter(({ name }) => name === "hot");
  const stale = (key: string) => hot.map((row) => roleOf(row, key)).map((fact) => log.append(somebody(), [fact], {}));
  statements.length = 0;
  const commands = addRoles();
  const losers = Array.from({ length: 16 }, (_, n) => stale(`role${n}`)).flat();
  // Facts of another type have a statement of their own, but race for the same versions.
  const renamed = hot.map((row) => factOf("project", next(row, new Date()), { case: "changed", value: { name: "Q" } }));
  losers.push(...renamed.map((fact) => log.append(somebody(), [fact], {})));
  expect(await outcomes(commands.map(({ ended }) => ended))).toEqual(commands.map(() => "won"));
  expect(await outcomes(losers)).toEqual(losers.map(() => "CONFLICT"));
  expect(statements).toHaveLength(1);
  expect(await sql`select from project_roles`).toHaveLength(21);
});

test("what stops a project does not wait for a deletion of it that has no connection yet", async () => {
  await using opened = await openTestLog();
  await using busy = oneConnection(opened.url);
  const { log, sql } = opened;
  const own = openLog<CommandOrigin>({ ...ofAll, sql, longRunning: busy.sql });
  const organization = organizationCreated();
  await log.append(somebody(), [organization], {});
  const project = first(organization.at.stream, unique("p"), new Date());
  await log.append(somebody(), [factOf("project", project, { case: "created", value: { name: "P" } })], {});
  const row = { ...project, id: project.stream, created: project.time, changed: project.time };
  await using holder = oneConnection(opened.url);
  await holder.sql`select pg_advisory_lock(1)`;
  // The only connection for deletions is busy until the holder lets go.
  const held = busy.sql`select pg_advisory_lock(1)`.execute();
  const deleted = own.append(
    somebody(),
    [factOf("project", next(row, new Date()), { case: "deleted", value: {} })],
    {},
  );
  const fact = factOf("project", next(row, new Date()), { case: "deactivated", value: {} });
  const stopped = own.append(somebody(), [fact], {});
  expect(await outcomes([stopped])).toEqual(["won"]);
  await holder.sql`select pg_advisory_unlock(1)`;
  await held;
  expect(await outcomes([deleted])).toEqual(["CONFLICT"]);
});

test("commands that another process has overtaken fail one statement, and not one after the other", async () => {
  await using opened = await withProjects({ hot: 1 });
  const { log, sql, statements, rows } = opened;
  const [row] = rows;
  if (!row) throw new Error("there is no project");
  const elsewhere = openLog<CommandOrigin>({ ...ofAll, sql });
  await elsewhere.append(somebody(), [roleOf(row, "first")], {});
  statements.length = 0;
  const losers = Array.from({ length: 16 }, (_, n) => log.append(somebody(), [roleOf(row, `role${n}`)], {}));
  expect(await outcomes(losers)).toEqual(losers.map(() => "CONFLICT"));
  expect(statements).toHaveLength(1);
});

test("a command that waited for one that was overtaken elsewhere does not count as recorded by somebody else", async () => {
  await using opened = await withProjects({ each: 2 });
  const { log, sql, rows } = opened;
  const [hot, free] = rows;
  if (!hot || !free) throw new Error("there are no projects");
  const elsewhere = openLog<CommandOrigin>({ ...ofAll, sql });
  await elsewhere.append(somebody(), [roleOf(hot, "first")], {});
  const both = log.append(somebody(), [roleOf(hot, "role"), roleOf(free, "role")], {});
  const waiting = log.append(somebody(), [roleOf(free, "other")], {});
  const verdict = (error: unknown) => [reasonOf(error), isRecorded(error)];
  expect(await Promise.all([both, waiting].map((one) => one.then(() => "won", verdict)))).toEqual([
    ["CONFLICT", true],
    ["CONFLICT", false],
  ]);
  expect(await sql`select from project_roles where project_id = ${free.id}`).toHaveLength(0);
});

test("a command that waits for one that is refused is tried", async () => {
  await using opened = await openTestLog();
  const { log, sql } = opened;
  await log.append(somebody(), [organizationCreated("taken")], {});
  const id = unique("o");
  const commands = ["taken", "free"].map((name) => log.append(somebody(), [organizationCreated(name, id)], {}));
  expect(await outcomes(commands)).toEqual(["CONFLICT", "won"]);
  expect(await sql`select from organizations`).toHaveLength(2);
});

test("a command with two facts about one object is refused", async () => {
  await using opened = await withProject();
  const { log, sql, roleAdded } = opened;
  await expect(log.append(somebody(), [roleAdded("a"), roleAdded("b")], {})).rejects.toThrow("at most one fact");
  expect(await sql`select from project_roles`).toHaveLength(0);
});

test("a command of several facts is written whole or not at all", async () => {
  await using opened = await openTestLog();
  const { log, sql } = opened;
  const [ada, bob] = [organizationCreated("same"), organizationCreated("same")];
  expect(await outcomes([log.append(somebody(), [ada, bob], {})])).toEqual(["CONFLICT"]);
  expect(await sql`select from events`).toHaveLength(0);
  await log.append(somebody(), [ada, organizationCreated("other")], {});
  expect(await sql`select from organizations`).toHaveLength(2);
});

test("events are never updated, deleted or truncated", async () => {
  await using opened = await openTestLog();
  await opened.log.append(somebody(), [organizationCreated()], {});
  await using client = oneConnection(opened.url);
  for (const text of ["update events set actor = 'eve'", "delete from events", "truncate events"])
    await expect(client.sql.unsafe(text)).rejects.toThrow("events are never changed");
  expect(await client.sql`select actor from events`).toEqual([{ actor: "ada" }]);
});

test("the idempotency record is written by the statement of the command", async () => {
  await using opened = await withProject();
  const { log, sql, statements, roleAdded } = opened;
  const seal = (answer: unknown) => Buffer.from(JSON.stringify(answer));
  const names = { caller: "ada", operation: "AddProjectRole", key: "1" };
  const origin = somebody({ idempotency: { ...names, request: Buffer.from("asked"), seal, created: new Date() } });
  statements.length = 0;
  expect(await log.append(origin, [roleAdded("a")], { ok: true })).toEqual({ ok: true });
  expect(statements).toHaveLength(1);
  const records = await sql<
    { key: string; request: Buffer; answer: Buffer }[]
  >`select key, request, answer from idempotency`;
  expect(records.map(({ key, request, answer }) => [key, String(request), String(answer)])).toEqual([
    ["1", "asked", '{"ok":true}'],
  ]);
});

test("of commands that share a statement those with a key get their records, wherever they stand", async () => {
  await using opened = await openTestLog();
  const { log, sql, statements } = opened;
  const seal = (answer: unknown) => Buffer.from(String(answer));
  const asked = { caller: "ada", operation: "CreateOrganization", request: Buffer.from("asked"), created: new Date() };
  const commands = Array.from({ length: 6 }, (_, n) => {
    const idempotency = n % 3 === 1 ? { ...asked, seal, key: `key${n}` } : undefined;
    return log.append(somebody({ idempotency }), [organizationCreated()], n);
  });
  await Promise.all(commands);
  expect(statements).toHaveLength(1);
  const records = await sql<{ key: string; answer: Buffer }[]>`select key, answer from idempotency order by key`;
  expect(records.map(({ key, answer }) => [key, String(answer)])).toEqual([
    ["key1", "1"],
    ["key4", "4"],
  ]);
  expect(await sql`select from organizations`).toHaveLength(6);
});

test("a command that loses its race leaves no idempotency record, and one with a used key leaves no event", async () => {
  await using opened = await withProject();
  const { log, sql, roleAdded } = opened;
  const record = (key: string) => ({
    ...{ caller: "ada", operation: "AddProjectRole", key, request: Buffer.from("asked") },
    ...{ seal: () => Buffer.from("{}"), created: new Date() },
  });
  await log.append(somebody({ idempotency: record("1") }), [roleAdded("a")], {});
  const ended = await outcomes([
    log.append(somebody({ idempotency: record("2") }), [roleAdded("b")], {}),
    log.append(somebody({ idempotency: record("1") }), [organizationCreated()], {}),
  ]);
  expect(ended).toEqual(["CONFLICT", "CONFLICT"]);
  expect(await sql`select key from idempotency`).toEqual([{ key: "1" }]);
  expect(await sql`select from organizations`).toHaveLength(1);
});

test("a command whose caller has gone leaves the queue unwritten", async () => {
  await using opened = await openTestLog();
  const { log, sql } = opened;
  const gone = new AbortController();
  const commands = [
    log.append(somebody({ signal: gone.signal }), [organizationCreated()], {}),
    log.append(somebody(), [organizationCreated()], {}),
  ];
  gone.abort(new Error("gone"));
  const [left, stayed] = await Promise.allSettled(commands);
  expect(left).toMatchObject({ status: "rejected", reason: { message: "gone" } });
  expect(stayed?.status).toBe("fulfilled");
  expect(await sql`select from organizations`).toHaveLength(1);
});
