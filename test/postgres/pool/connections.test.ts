import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { sharesOf } from "../../../src/runtime/runtime.ts";
import { Parts } from "../../../src/security/held_places.ts";
import { freshDatabase } from "../../database.ts";
import { holdStatement } from "../../fixture/held_row.ts";
import { type Answer, machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { ask, quiet, until } from "../embedded/holder.ts";

/** Counts the connections of the service that match the condition. */
async function count(url: string, like = "true"): Promise<number> {
  const [row] = await ask<{ count: number }>(
    url,
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and application_name = 'postern' and ${like}`,
  );
  return row?.count ?? 0;
}

const numbers = [1, 2, 3, 8, 16];

/** How many of these connections one organization may hold. */
function partOf(connections: number): number {
  const parts = new Parts();
  while (parts.mayTake(["an organization", ""], connections)) parts.take(["an organization", ""]);
  return parts.held;
}

test.each(numbers)(
  "a node with %i connections never has more, and one organization leaves some to others",
  async (connections) => {
    await using at = await freshDatabase();
    await using postern = await startPostern({ databaseUrl: at.url, databaseConnections: connections });
    const users = await Promise.all(Array.from({ length: 10 }, () => machine(postern)));
    const counts: number[] = [];
    const waiting = (wanted: number) =>
      until(async () => {
        counts.push(await count(at.url));
        return (await count(at.url, "wait_event_type = 'Lock'")) === wanted;
      });
    const { short, long } = sharesOf(connections);
    // Held up by this, statements that remove users and those that list grants take all the connections that one organization gets;
    // those that list the grants of one user would share a few.
    await using gate = await lock(at.url, "user_grants");
    const removed = users.map(({ userId }) => postern.admin.delete(`/v1/users/${userId}`));
    if (long > 0) await waiting(partOf(long));
    const listed = Array.from({ length: 40 }, () => postern.admin.get("/v1/user-grants"));
    const probed = Array.from({ length: 10 }, () => fetch(`${postern.url}/readyz`));
    await waiting(partOf(short) + partOf(long));
    await Promise.all(probed);
    await gate.release();
    await Promise.all([...removed, ...listed]);
    expect(Math.max(...counts)).toBeLessThanOrEqual(connections);
    await expect.poll(async () => (await fetch(`${postern.url}/readyz`)).status).toBe(200);
    expect((await postern.admin.get("/v1/projects")).status).toBe(200);
  },
);

test("whatever ends a stolen account waits for no deletion of another organization", async () => {
  await using at = await freshDatabase();
  await using postern = await startPostern({ databaseUrl: at.url, databaseConnections: 16 });
  const { long } = sharesOf(16);
  const [theirs, ours] = [await organization(postern), await organization(postern)];
  const projects = await Promise.all(Array.from({ length: long + 1 }, () => grantedProject(postern, theirs)));
  const metric = async (name: string) => {
    const text = await (await fetch(`${postern.url}/metrics`)).text();
    return Number(text.match(new RegExp(`^postern_database_long_statements_${name} (\\d+)$`, "m"))?.[1]);
  };
  const load = () => Promise.all(["running", "waiting", "limit"].map(metric));
  const calls = await callsThatStop(postern, ours);
  expect(await load()).toEqual([0, 0, long]);

  await using grants = await holdStatement(at.url, `select from user_grants where owner = '${theirs}' for update`);
  const deleted = projects.map((id) => postern.admin.delete(`/v1/projects/${id}`, { "x-service-orgid": theirs }));
  // One organization leaves a connection to others.
  await expect.poll(load).toEqual([long - 1, 2, long]);
  for (const [name, call] of Object.entries(calls)) expect([name, (await call()).status]).toEqual([name, 200]);
  expect(await load()).toEqual([long - 1, 2, long]);

  await grants[Symbol.asyncDispose]();
  for (const { status } of await Promise.all(deleted)) expect(status).toBe(200);
  await expect.poll(load).toEqual([0, 0, long]);
});

/** A project with a grant, so that deleting it has to delete that as well. */
async function grantedProject(postern: Postern, organizationId: string): Promise<string> {
  const headers = { "x-service-orgid": organizationId };
  const { userId } = await machine(postern, { organizationId });
  const name = randomBytes(6).toString("hex");
  const { projectId } = (await postern.admin.post("/v1/projects", { name }, headers)).body;
  const granted = await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: [] }, headers);
  expect(granted.status).toBe(200);
  return projectId;
}

/** The calls by which somebody stops whoever has a password, a session, a token or a membership of a user. */
async function callsThatStop(postern: Postern, organizationId: string): Promise<Record<string, () => Promise<Answer>>> {
  const { admin } = postern;
  const person = () => signedUp(postern, { organizationId });
  const [changed, set, signedOut, deactivated, left, member] = await Promise.all(Array.from({ length: 6 }, person));
  const robot = await machine(postern, { organizationId });
  if (!(changed && set && signedOut && deactivated && left && member)) throw new Error("six people");
  const members = `/v1/organizations/${organizationId}/members`;
  const headers = { "x-service-orgid": organizationId };
  await admin.post(members, { userId: member.userId, roles: ["ORG_VIEWER"] }, headers);
  const password = "Green-Kettle-43";
  return {
    ChangePassword: () =>
      changed.client.put("/v1/users/me/password", { oldPassword: changed.password, newPassword: password }),
    SetPassword: () => admin.put(`/v1/users/${set.userId}/password`, { newPassword: password }),
    DeleteUserSessions: () => admin.delete(`/v1/users/${signedOut.userId}/sessions`),
    DeactivateUser: () => admin.post(`/v1/users/${deactivated.userId}:deactivate`),
    RevokeAccessToken: () => admin.delete(`/v1/users/${robot.userId}/tokens/${robot.tokenId}`),
    RemoveMember: () => admin.delete(`${members}/${member.userId}`, headers),
    DeactivateOrganization: () => admin.post(`/v1/organizations/${organizationId}:deactivate`),
  };
}

/** Keeps everybody else from a table. */
async function lock(url: string, table: string): Promise<AsyncDisposable & { release: () => Promise<unknown> }> {
  const client = postgres(driverUrl(url), { ...clientOptions(url, quiet), max: 1 });
  await client.unsafe(`begin; lock table ${table} in access exclusive mode`);
  return { release: () => client.unsafe("commit"), [Symbol.asyncDispose]: () => client.end() };
}

test("of each number of connections there is at least one to work with, and none too many", () => {
  for (let connections = 1; connections <= 1000; connections++) {
    const { short, long, asking } = sharesOf(connections);
    expect(short).toBeGreaterThan(0);
    expect(long).toBeLessThanOrEqual(4);
    expect(short + long + asking).toBe(connections);
  }
});

test("a node that is allowed fewer connections than it may take serves all calls with those", async () => {
  await using at = await freshDatabase();
  await using role = await limitedRole(at.url, 4);
  await using postern = await startPostern({
    ...{ databaseUrl: role.url, migrationDatabaseUrl: at.url, databaseConnections: 16, databaseWaitMs: 60_000 },
  });
  const users = await Promise.all(Array.from({ length: 10 }, () => machine(postern)));
  const statuses: number[] = [];
  for (let round = 0; round < 10; round++) {
    const calls = users.flatMap(() => [
      ...Array.from({ length: 4 }, () => postern.admin.get(`/v1/users/${postern.adminId}/grants`)),
      expect
        .poll(async () => (await fetch(`${postern.url}/readyz`)).status)
        .toBe(200)
        .then(() => ({ status: 200 })),
      ...(round === 5 ? [postern.admin.delete(`/v1/users/${users.pop()?.userId}`)] : []),
    ]);
    statuses.push(...(await Promise.all(calls)).map(({ status }) => status));
    await sleep(100);
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
});

/** A role that may do everything in the database, on so many connections. */
async function limitedRole(url: string, connections: number): Promise<AsyncDisposable & { url: string }> {
  const name = `limited_${randomBytes(6).toString("hex")}`;
  await ask(inject("databaseUrl"), `create role ${name} login connection limit ${connections}`);
  await ask(url, `grant all on all tables in schema public to ${name}`);
  await ask(url, `grant all on all sequences in schema public to ${name}`);
  const own = new URL(url);
  own.username = name;
  return {
    url: own.href,
    async [Symbol.asyncDispose]() {
      await ask(url, `drop owned by ${name}`);
      await ask(url, `drop role ${name}`);
    },
  };
}
