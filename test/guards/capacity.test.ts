import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test, vi } from "vitest";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { holdTable } from "../fixture/held_row.ts";
import { type Client, machine, organization, startPostern } from "../harness.ts";
import { ask, until } from "../postgres/embedded/holder.ts";
import { readError, refusalOf } from "../wire/refusal.ts";

// So many connections that the callers of a test, who are one organization or one network, may hold four.
const few = { callsMax: 4, databaseConnections: 16, databaseStatementTimeoutMs: 60_000 };

/** Counts the statements that wait for a lock in the database. */
async function waiting(databaseUrl: string): Promise<number> {
  const text = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  return (await ask(databaseUrl, text)).length;
}

test("a node that works on as many calls as it may refuses more at once, and says when to try again", async () => {
  await using postern = await startPostern({ ...few, metrics: "on" });
  const { admin, url, databaseUrl } = postern;
  const projects = createClient(ProjectService, createGrpcTransport({ baseUrl: url }));
  const headers = { authorization: `Bearer ${admin.token}` };
  const { projectId } = (await admin.post("/v1/projects", { name: "Held" })).body;
  const { userId, client: other } = await machine(postern, { organizationId: await organization(postern) });
  await admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true });
  // No caller is read from this table: a call takes its place once its caller is known.
  const held = await holdTable(databaseUrl, "project_roles");
  const here = { "x-service-orgid": postern.organizationId };
  const rolesFor = (client: Client) => client.get(`/v1/projects/${projectId}/roles`, here);
  const running = Array.from({ length: 3 }, () => rolesFor(admin));
  await until(async () => (await waiting(databaseUrl)) >= 3);
  // One organization leaves a place to others.
  expect((await admin.get("/v1/users/me")).status).toBe(429);
  expect((await other.get("/v1/users")).status).toBe(200);
  running.push(rolesFor(other));
  await until(async () => (await waiting(databaseUrl)) >= 4);
  await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toMatch(/^postern_calls_in_flight 4$/m);
  const { status, body, headers: fields } = await admin.get("/v1/users/me");
  expect([status, body.code, body.details[0].reason]).toEqual([429, Code.ResourceExhausted, "OVERLOADED"]);
  expect(fields.get("retry-after")).toBe("1");
  const refused = readError(await refusalOf(projects.listProjects({}, { headers })));
  expect([refused.code, refused.reason, refused.retrySeconds]).toEqual(["ResourceExhausted", "OVERLOADED", 1]);
  // Without a token as well: nothing is looked up for a call that is refused.
  expect((await postern.as().get("/v1/users/me")).status).toBe(429);
  for (const path of ["/healthz", "/readyz", "/metrics"]) expect((await fetch(url + path)).status).toBe(200);
  await held[Symbol.asyncDispose]();
  expect((await Promise.all(running)).map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
  for (let round = 0; round < 10; round++) expect((await admin.get("/v1/users/me")).status).toBe(200);
});

test("requests of sign-in at applications take places as calls do", async () => {
  await using postern = await startPostern(few);
  const { admin, url, databaseUrl } = postern;
  const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: "x", client_id: "nobody" });
  const asks = [
    () => fetch(`${url}/oauth/token`, { method: "POST", body }),
    () => fetch(`${url}/oauth/authorize?client_id=nobody`),
  ];
  // The keys that sign are made by the first request.
  await fetch(`${url}/oauth/keys`);
  const held = await holdTable(databaseUrl, "applications");
  const running = asks.map((ask) => ask());
  await until(async () => (await waiting(databaseUrl)) >= 2);
  // A network of unknown callers gets half of the places.
  for (const ask of asks) expect((await ask()).status).toBe(429);
  expect((await admin.get("/v1/users/me")).status).toBe(200);
  await held[Symbol.asyncDispose]();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([401, 400]);
  for (let round = 0; round < 10; round++) expect((await asks[0]?.())?.status).toBe(401);
});

test("long pages that wait leave connections to other calls of their organization, and places to long pages of others", async () => {
  await using postern = await startPostern({ databaseConnections: 16, databaseStatementTimeoutMs: 60_000 });
  const { admin, databaseUrl } = postern;
  const { userId, client: other } = await machine(postern, { organizationId: await organization(postern) });
  await admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true });
  const { projectId } = (await admin.post("/v1/projects", { name: "Held" })).body;
  const held = await holdTable(databaseUrl, "project_roles");
  const pages = Array.from({ length: 24 }, () => admin.get(`/v1/projects/${projectId}/roles?pageSize=1000`));
  await until(async () => (await waiting(databaseUrl)) >= 3);
  const answers = [await admin.get("/v1/users?pageSize=10"), await other.get("/v1/users?pageSize=1000")];
  const count = await waiting(databaseUrl);
  await held[Symbol.asyncDispose]();
  expect([count, ...answers.map(({ status }) => status)]).toEqual([3, 200, 200]);
  expect(new Set((await Promise.all(pages)).map(({ status }) => status))).toEqual(new Set([200]));
});

test("while others call, an organization's long pages are read one after the other", async () => {
  await using postern = await startPostern({ databaseConnections: 16, databaseStatementTimeoutMs: 60_000 });
  const { admin, databaseUrl } = postern;
  const { userId, client: other } = await machine(postern, { organizationId: await organization(postern) });
  await admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true });
  const { projectId } = (await admin.post("/v1/projects", { name: "Held" })).body;
  const rolesOf = (pageSize: number) => admin.get(`/v1/projects/${projectId}/roles?pageSize=${pageSize}`);
  const held = await holdTable(databaseUrl, "project_roles");
  // However busy the machine is, the others have just called.
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  try {
    await other.get("/v1/users?pageSize=10");
    await admin.get("/v1/users?pageSize=10");
    const pages = Array.from({ length: 3 }, () => rolesOf(1000));
    await until(async () => (await waiting(databaseUrl)) >= 1);
    for (let n = 0; n < 10; n++) expect((await other.get("/v1/users?pageSize=10")).status).toBe(200);
    const short = rolesOf(10);
    await until(async () => (await waiting(databaseUrl)) >= 2);
    const count = await waiting(databaseUrl);
    await held[Symbol.asyncDispose]();
    // The first long page, and the short one, which is no heavy work.
    expect([count, (await short).status]).toEqual([2, 200]);
    expect((await Promise.all(pages)).map(({ status }) => status)).toEqual([200, 200, 200]);
  } finally {
    clock.mockRestore();
  }
});

test("streams that catch up leave connections to other calls of their organization", async () => {
  await using postern = await startPostern({ databaseConnections: 16, databaseStatementTimeoutMs: 60_000 });
  const { admin, databaseUrl, url } = postern;
  const held = await holdTable(databaseUrl, "event_batches");
  const over = new AbortController();
  const headers = { authorization: `Bearer ${admin.token}` };
  const streams = Array.from({ length: 24 }, () =>
    fetch(`${url}/v1/events:watch?after=0`, { headers, signal: over.signal }).catch(() => undefined),
  );
  // All are open, and read the log.
  await Promise.all(streams);
  await until(async () => (await waiting(databaseUrl)) >= 3);
  const { status } = await admin.get("/v1/users?pageSize=10");
  over.abort();
  await held[Symbol.asyncDispose]();
  expect(status).toBe(200);
});
