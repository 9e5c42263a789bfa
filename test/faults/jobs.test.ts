import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rebuild } from "../../src/events/rebuild.ts";
import { folds } from "../../src/runtime/modules.ts";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { oneConnection } from "../events/log_of.ts";
import { startNode } from "../first_start.ts";
import { holdersOf } from "../fixture/many_holders.ts";
import { type Answer, clientOf } from "../harness.ts";
import { freePort } from "../wire/free_port.ts";
import { untilReady } from "./rounds.ts";

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

test("jobs go on at another node when theirs stops, at a third when that is killed, and each event is written once", async () => {
  await using opened = new AsyncDisposableStack();
  const { url: databaseUrl } = opened.use(await freshDatabase());
  const dataDir = await mkdtemp(join(tmpdir(), "postern-jobs-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const adminToken = newToken("pt");
  const started = async () => {
    const node = opened.use(await startNode({ databaseUrl, dataDir, port: await freePort(), adminToken }));
    await untilReady(node);
    return node;
  };
  const [first, second, third] = [await started(), await started(), await started()];
  // It takes no lease for now.
  third.signal("SIGSTOP");
  const admin = clientOf(first.url, adminToken);
  const { organizationId } = done(await admin.post("/v1/organizations", { name: "Large" }));
  const { projectId } = done(await admin.post("/v1/projects", { name: "Portal" }));
  done(await admin.post(`/v1/projects/${projectId}/roles`, { key: "reader" }));
  const count = 10_000;
  await holdersOf({ admin }, { projectId, roleKey: "reader", count });
  const inside = { "x-service-orgid": organizationId };
  const { projectId: own } = done(await admin.post("/v1/projects", { name: "Own" }, inside));
  done(await admin.post(`/v1/projects/${own}/roles`, { key: "reader" }, inside));
  await holdersOf({ admin }, { projectId: own, roleKey: "reader", count: 3_000, organizationId });
  const shared = await sharedProject(admin);

  const begun = [
    done(await admin.delete(`/v1/projects/${projectId}/roles/reader`)).jobId,
    done(await admin.delete(`/v1/organizations/${organizationId}`)).jobId,
    done(await admin.put(shared.path, { roleKeys: ["writer"] })).jobId,
  ];
  await using client = oneConnection(databaseUrl);
  const written = async () =>
    Number((await client.sql`select sum(written) as written from jobs where ended is null`)[0]?.written ?? 0);
  while ((await written()) === 0);
  first.signal("SIGTERM");
  await first.exited;
  const atStop = await written();
  expect(atStop, "the jobs were under way").toBeGreaterThan(0);
  for (let now = atStop; now === atStop; ) now = await written();
  second.signal("SIGKILL");
  await second.exited;
  expect(await written(), "the jobs were under way").toBeGreaterThan(atStop);
  third.signal("SIGCONT");

  const other = clientOf(third.url, adminToken);
  const stateOf = async (jobId: string) =>
    done(await other.get(`/v1/jobs/${jobId}:wait?instance=true&timeoutSeconds=50`)).job.state;
  for (const jobId of begun) await expect.poll(() => stateOf(jobId), { timeout: 300_000 }).toBe("JOB_STATE_ENDED");
  const [{ removed }] = (await client.sql<{ removed: number }[]>`
    select count(*)::int as removed from events where type = 'user_grant.role_removed'`) as unknown as [
    { removed: number },
  ];
  expect(removed).toBe(count);
  expect(await client.sql`select from organizations where organization_id = ${organizationId}`).toEqual([]);
  expect(await client.sql`select from all_users where owner = ${organizationId}`).toEqual([]);
  const [lost] = await client.sql<{ lost: number }[]>`
    select count(*)::int as lost from events where type = 'user_grant.changed'`;
  expect(lost?.lost).toBe(shared.count);
  done(await other.post(`/v1/projects/${projectId}/roles`, { key: "reader" }));
  done(await other.put(shared.path, { roleKeys: ["writer", "reader"] }));
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
}, 600_000);

/** A project that is granted to another organization, where many users hold one of its roles. */
async function sharedProject(admin: ReturnType<typeof clientOf>) {
  const count = 3_000;
  const { organizationId } = done(await admin.post("/v1/organizations", { name: "Customer" }));
  const { projectId } = done(await admin.post("/v1/projects", { name: "Shared" }));
  for (const key of ["reader", "writer"]) done(await admin.post(`/v1/projects/${projectId}/roles`, { key }));
  const wanted = { grantedOrganizationId: organizationId, roleKeys: ["reader", "writer"] };
  const { projectGrantId } = done(await admin.post(`/v1/projects/${projectId}/grants`, wanted));
  await holdersOf({ admin }, { projectId, projectGrantId, roleKey: "reader", count, organizationId });
  return { path: `/v1/projects/${projectId}/grants/${projectGrantId}`, count };
}
