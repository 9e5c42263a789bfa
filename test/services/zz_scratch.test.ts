import { createContextValues } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { keys, newId, type Call } from "../../src/deps.ts";
import { reasonOf } from "../../src/errors.ts";
import { factOf, first, typeOf } from "../../src/events/fact.ts";
import { followTail } from "../../src/events/follow.ts";
import { openLog } from "../../src/events/log.ts";
import { rebuild } from "../../src/events/rebuild.ts";
import { connect } from "../../src/postgres/connect.ts";
import { applicationFolds } from "../../src/services/application.ts";
import { eventService } from "../../src/services/event.ts";
import { memberFolds, memberService } from "../../src/services/member.ts";
import { organizationFolds } from "../../src/services/organization.ts";
import { projectFolds, projectService } from "../../src/services/project.ts";
import { projectGrantFolds } from "../../src/services/project_grant.ts";
import { userGrantFolds, userGrantService } from "../../src/services/user_grant.ts";
import { freshDatabase } from "../database.ts";
import { oneConnection } from "../events/log_of.ts";

const nouns: any = { organization: organizationFolds, project: projectFolds, projectGrant: projectGrantFolds, member: memberFolds, userGrant: userGrantFolds, application: applicationFolds };
const folds: any = new Map(Object.entries(nouns).flatMap(([n, f]: any) => Object.entries(f).map(([k, v]) => [typeOf(n, k as never), v])));
const quiet = { debug() {}, info() {}, warn() {}, error: console.error };

function node(url: string) {
  const c = connect(url, { connections: 8, waitMs: 10000, statementTimeoutMs: 20000, log: quiet });
  const log = openLog<any>({ sql: c.sql, folds, originOf: (call) => ({ actor: "a", requestId: "r", signal: call.signal, idempotency: undefined }) });
  const deps: any = { log, sql: c.sql, clock: () => new Date(), ids: newId, secrets: {} };
  return { ...c, deps, p: projectService(deps) as any, m: memberService(deps) as any, g: userGrantService(deps) as any, [Symbol.asyncDispose]: c[Symbol.asyncDispose] };
}
function call(org: string, reach: any = { whole: true }): Call {
  const values = createContextValues();
  values.set(keys.organization, org); values.set(keys.reach, reach);
  return { values, signal: new AbortController().signal, requestHeader: new Headers() } as any;
}
const none = { instance: false, organizationId: "", projectId: "", projectGrantId: "" };
async function retried<T>(f: () => Promise<T>): Promise<T> {
  for (let i = 0; ; i++) try { return await f(); } catch (e) { if (reasonOf(e) !== "CONFLICT" || i > 8) throw e; await new Promise((r) => setTimeout(r, Math.random() * 20 * i)); }
}

test("scratch", async () => {
  await using db = await freshDatabase();
  await using a = node(db.url); await using b = node(db.url);
  const { sql, log } = a.deps;
  const [A, B] = ["orga", "orgb"];
  for (const o of [A, B]) await log.append(call(o), [factOf("organization", first(o, o, new Date()), { case: "created", value: { name: o } })], {});
  for (let i = 0; i < 30; i++) await sql`insert into users (owner, user_id, kind, username, version, created, changed) values (${A}, ${`u${i}`}, 'human', ${`u${i}`}, 1, now(), now())`;
  const { projectId } = await a.p.createProject({ name: "P" }, call(A));
  await expect(a.p.createProject({ name: "P" }, call(A))).rejects.toMatchObject({ message: expect.stringContaining("taken") });
  for (const key of ["r1", "r2", "r3"]) await a.p.addProjectRole({ projectId, key, displayName: "" }, call(A));
  await expect(a.p.addProjectRole({ projectId, key: "r1", displayName: "" }, call(A))).rejects.toThrow("already");
  const grant = await a.p.grantProject({ projectId, grantedOrganizationId: B, roleKeys: ["r1", "r2"] }, call(A));
  const bad = await a.p.grantProject({ projectId, grantedOrganizationId: B, roleKeys: ["r1", "zz"] }, call(A)).catch((e: any) => e);
  console.log(bad.message, JSON.stringify(bad.details.map((d: any) => d.value)));
  for (const [g, k] of [[A, []], ["nope", []], [B, []]] as any) console.log(reasonOf(await a.p.grantProject({ projectId, grantedOrganizationId: g, roleKeys: k }, call(A)).catch((e: any) => e)));
  const page = { pageSize: 2, pageToken: "" };
  console.log(await a.p.listProjectRoles({ projectId, ...page }, call(A)), await a.p.listProjectRoles({ projectId, ...page }, call(B)));
  console.log(await a.p.getProject({ projectId }, call(B)), await a.p.listProjects({ ...page, includeGranted: true }, call(B)), await a.p.listProjects({ ...page, includeGranted: false }, call(B)));
  console.log(await a.p.listProjects({ ...page, includeGranted: true }, call(B, { whole: false, organizations: [], projects: [], projectGrants: [] })), await a.p.listProjects({ ...page, includeGranted: true }, call(A, { whole: false, organizations: [], projects: [projectId], projectGrants: [] })));
  console.log(JSON.stringify(await a.p.listProjectGrants({ projectId, ...page }, call(B)), (_, v) => typeof v === "bigint" ? `${v}` : v));
  for (const f of [() => a.p.deleteProject({ projectId }, call(B)), () => a.p.addProjectRole({ projectId, key: "x", displayName: "" }, call(B)), () => a.p.revokeProjectGrant({ projectId, projectGrantId: "x" }, call(A)), () => a.p.revokeProjectGrant({ projectId, projectGrantId: grant.projectGrantId }, call(B))]) console.log(reasonOf(await f().catch((e: any) => e)));
  // members
  await a.m.addMember({ ...none, userId: "u1", roles: ["PROJECT_OWNER"], projectId }, call(A));
  await a.m.addMember({ ...none, userId: "u1", roles: ["PROJECT_GRANT_OWNER"], projectGrantId: grant.projectGrantId }, call(B));
  await a.m.addMember({ ...none, userId: "u1", roles: ["ORG_OWNER"] }, call(B));
  console.log(await a.m.listMembers({ ...none, ...page, projectGrantId: grant.projectGrantId, projectId }, call(B)), await a.m.listMembers({ ...none, ...page }, call(B)));
  for (const f of [
    () => a.m.addMember({ ...none, userId: "u1", roles: ["ORG_OWNER"], projectId }, call(A)),
    () => a.m.addMember({ ...none, userId: "u1", roles: ["PROJECT_OWNER"], projectId }, call(A)),
    () => a.m.addMember({ ...none, userId: "nope", roles: ["PROJECT_OWNER"], projectId }, call(A)),
    () => a.m.addMember({ ...none, userId: "u1", roles: ["PROJECT_OWNER"], projectId }, call(B)),
    () => a.m.addMember({ ...none, userId: "u1", roles: ["PROJECT_GRANT_OWNER"], projectGrantId: grant.projectGrantId }, call(A)),
    () => a.m.listMembers({ ...none, ...page, projectGrantId: grant.projectGrantId, projectId: "zz" }, call(B)),
    () => a.m.listMembers({ ...none, ...page, instance: true, projectId: "zz" }, call("inst")),
    () => a.m.removeMember({ ...none, userId: "u2" }, call(B)),
  ]) console.log(reasonOf(await f().catch((e: any) => e)));
  // last owner races
  for (let round = 0; round < 30; round++) {
    const owners = Array.from({ length: 2 + (round % 3) }, (_, i) => `u${i + 5}`);
    for (const u of owners) await a.m.addMember({ ...none, userId: u, roles: ["INSTANCE_OWNER"], instance: true }, call("inst"));
    const ended = await Promise.all(owners.map((u, i) => retried(() => ((i + round) % 2 ? a : b).m[i % 2 ? "removeMember" : "changeMember"]({ ...none, userId: u, roles: ["INSTANCE_VIEWER"], instance: true }, call("inst"))).then(() => "ok", (e) => reasonOf(e))));
    const [{ n }] = await sql`select count(*)::int as n from members where scope = 'instance' and 'INSTANCE_OWNER' = any(roles)`;
    if (n !== 1 || ended.filter((x) => x === "LAST_OWNER").length !== 1) console.log("ROUND", round, n, ended);
    expect(n).toBe(1);
    // reset
    await a.m.addMember({ ...none, userId: "u20", roles: ["INSTANCE_OWNER"], instance: true }, call("inst"));
    for (const u of owners) await a.m.removeMember({ ...none, userId: u, instance: true }, call("inst")).catch((e: any) => { if (reasonOf(e) !== "MEMBER_NOT_FOUND") throw e; });
    // remove u20 directly impossible as the last: keep next round's owners by log
    await log.append(call("inst"), [], {});
    const [m] = await sql`select member_id as id, owner, version, created, changed from members where user_id = 'u20' and scope = 'instance'`;
    await sql`delete from members where member_id = ${m.id}`;
  }
  // cascades against concurrent adds
  const adds = Array.from({ length: 20 }, (_, i) => retried(() => (i % 2 ? a : b).g.addUserGrant({ userId: `u${i}`, projectId, projectGrantId: i % 3 ? "" : grant.projectGrantId, roleKeys: ["r1", "r2"] }, call(i % 3 ? A : B))).then(() => "ok", (e: any) => reasonOf(e)));
  const removal = retried(() => a.p.removeProjectRole({ projectId, roleKey: "r2" }, call(A)));
  console.log(await Promise.all([...adds, removal.then(() => "removed", (e) => reasonOf(e))]));
  expect(await sql`select from user_grant_roles where role_key = 'r2'`).toHaveLength(0);
  console.log(await sql`select type, count(*)::int from events group by 1 order by 1`);
  let gid = grant.projectGrantId;
  for (let round = 0; round < 40; round++) {
    const id = gid;
    const adds2 = Array.from({ length: 8 }, (_, i) => retried(() => b.g.addUserGrant({ userId: `u${20 + i}`, projectId, projectGrantId: id, roleKeys: ["r1"] }, call(B))).then(() => "ok", (e: any) => reasonOf(e) ?? e));
    await new Promise((r) => setTimeout(r, round % 10));
    const revoked = retried(() => a.p.revokeProjectGrant({ projectId, projectGrantId: id }, call(A)));
    const res = await Promise.all([...adds2, revoked.then(() => "revoked", (e) => e)]);
    if (res.at(-1) !== "revoked" || res.some((x) => typeof x !== "string")) console.log("BAD", round, res);
    expect(await sql`select from user_grants where project_grant_id is not null`).toHaveLength(0);
    if (round < 39) gid = (await a.p.grantProject({ projectId, grantedOrganizationId: B, roleKeys: ["r1", "r3"] }, call(A))).projectGrantId;
  }
  // project deletion against everything
  for (let round = 0; round < 40; round++) {
    const { projectId } = await a.p.createProject({ name: "X" }, call(A));
    for (const key of ["r1", "r2"]) await a.p.addProjectRole({ projectId, key, displayName: "" }, call(A));
    const adds3 = [
      ...Array.from({ length: 5 }, (_, i) => () => b.g.addUserGrant({ userId: `u${20 + i}`, projectId, projectGrantId: "", roleKeys: ["r1", "r2"] }, call(A))),
      () => b.p.grantProject({ projectId, grantedOrganizationId: B, roleKeys: ["r2", "r1"] }, call(A)),
      () => b.m.addMember({ ...none, userId: "u3", roles: ["PROJECT_OWNER"], projectId }, call(A)),
      () => b.p.addProjectRole({ projectId, key: "r9", displayName: "" }, call(A)),
      () => b.p.removeProjectRole({ projectId, roleKey: "r2" }, call(A)),
    ].map((f) => retried<any>(f).then(() => "ok", (e: any) => reasonOf(e) ?? e));
    await new Promise((r) => setTimeout(r, round % 10));
    const res = await Promise.all([...adds3, retried<any>(() => a.p.deleteProject({ projectId }, call(A))).then(() => "deleted", (e) => e)]);
    if (res.at(-1) !== "deleted" || res.some((x) => typeof x !== "string")) console.log("BAD", round, res);
  }
  expect(await sql`select from members where project_grant_id is not null`).toHaveLength(0);
  await a.p.grantProject({ projectId, grantedOrganizationId: B, roleKeys: ["r1"] }, call(A));
  console.log(await retried(() => a.p.deleteProject({ projectId }, call(A))));
  for (const t of ["projects", "project_roles", "project_grants", "project_grant_roles", "user_grants", "user_grant_roles"]) expect(await sql.unsafe(`select from ${t}`)).toHaveLength(0);
  expect(await sql`select from members where scope like 'project%'`).toHaveLength(0);
  await using one = oneConnection(db.url);
  const r = await rebuild(one.sql, folds);
  console.log(JSON.stringify(r));
  // events
  await using tail = await followTail({ sql, everyMs: 20, failed: console.error });
  const es: any = eventService(a.deps, tail);
  const ef = { instance: false, objectId: "", actorId: "", types: [] as string[] };
  const l = await es.listEvents({ ...ef, ...page }, call(A));
  console.log(l.events.map((e: any) => [e.position, e.type, e.fact?.noun]), l.nextPageToken);
  let token = ""; const seen: string[] = [];
  do { const r = await es.listEvents({ ...ef, instance: true, pageSize: 7, pageToken: token }, call("inst")); seen.push(...r.events.map((e: any) => e.position)); token = r.nextPageToken; } while (token);
  const all = await sql`select position::text from events order by epoch desc, xid desc, events.position desc`;
  expect(seen.map((x) => x.split(".")[2])).toEqual(all.map((x: any) => x.position));
  const abort = new AbortController();
  const wc: any = { ...call("inst"), signal: abort.signal };
  const got: string[] = [];
  const watching = (async () => { for await (const { event } of es.watchEvents({ ...ef, instance: true, after: "0.0.0" }, wc)) { got.push(event.position); if (got.length % 50 === 0) await new Promise((r) => setTimeout(r, 5)); } })().catch((e) => e);
  const many = Array.from({ length: 3000 }, (_, i) => (i % 2 ? a : b).p.createProject({ name: `n${i}` }, call(A)));
  await Promise.all(many);
  await vi.waitFor(async () => { const [{ n }] = await sql`select count(*)::int as n from events`; expect(got.length).toBe(n); }, 10000);
  abort.abort(new Error("bye"));
  console.log(String(await watching));
  const order = await sql`select epoch || '.' || xid::text || '.' || position as p from events order by epoch, events.xid, events.position`;
  expect(got).toEqual(order.map((x: any) => x.p));
}, 60000);
