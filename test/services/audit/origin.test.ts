import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newToken } from "../../../src/security/token.ts";
import { oneConnection, unique } from "../../events/log_of.ts";
import { type Answer, machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";

const settings = { trustedProxies: ["127.0.0.1"], masterKeys: [randomBytes(32)], adminToken: newToken("pt") };

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern(settings);
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
});

type Event = Readonly<Record<"type" | "objectId" | "aboutUserId" | "projectId" | "resourceOwner", string>> & {
  readonly origin?: object;
};
const answered = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const events = async (query: string, headers = {}): Promise<Event[]> =>
  answered(await postern.admin.get(`/v1/events?${query}`, headers)).events;
const typesOf = (found: readonly Event[]) => found.map(({ type }) => type);
const from = (address: string, userAgent: string) => ({ "x-forwarded-for": address, "user-agent": userAgent });

/** A machine that owns the organization. */
async function owner() {
  const made = await machine(postern);
  answered(await postern.admin.post("/v1/members", { userId: made.userId, roles: ["ORG_OWNER"] }));
  return made;
}

test("an event says from which address, program and session or token its call came", async () => {
  const { userId, client, tokenId } = await owner();
  const made = answered(
    await client.post("/v1/projects", { name: unique("Project") }, from("2001:db8::7", "terraform/1.9")),
  );
  expect(await events(`objectId=${made.projectId}`)).toMatchObject([
    { actorId: userId, origin: { address: "2001:db8::7", userAgent: "terraform/1.9", accessTokenId: tokenId } },
  ]);
  const user = await signedUp(postern);
  const [signIn] = await events(`types=session.created&aboutUserId=${user.userId}`);
  expect(signIn?.origin).toEqual({ userAgent: expect.any(String) });
  const far = from("203.0.113.9", "x".repeat(5000));
  answered(await user.client.post(`/v1/users/${user.userId}/phone`, { phone: "+14155550199" }, far));
  expect(await events(`types=user.phone_changed&aboutUserId=${user.userId}`)).toMatchObject([
    { origin: { address: "203.0.113.9", userAgent: "x".repeat(200), sessionId: signIn?.objectId } },
  ]);
});

test("what follows from a call comes from where it came from, also where a job does it", async () => {
  const { client } = await owner();
  const { projectId } = answered(await client.post("/v1/projects", { name: unique("Project") }));
  answered(await client.post(`/v1/projects/${projectId}/roles`, { key: "a" }));
  const { userId } = await signedUp(postern);
  answered(await client.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["a"] }));
  answered(await client.delete(`/v1/projects/${projectId}/roles/a`, from("203.0.113.10", "cleaner")));
  const followed = await events(`projectId=${projectId}&types=user_grant.removed&types=user_grant.role_removed`);
  expect(followed).toMatchObject([{ aboutUserId: userId, origin: { address: "203.0.113.10", userAgent: "cleaner" } }]);

  const doomed = await organization(postern);
  const inDoomed = await signedUp(postern, { organizationId: doomed });
  answered(await postern.admin.delete(`/v1/organizations/${doomed}`, from("203.0.113.11", "curl")));
  const query = `instance=true&objectId=${inDoomed.userId}&types=user.deleted`;
  await expect.poll(() => events(query), { timeout: 60_000 }).toHaveLength(1);
  const origin = { address: "203.0.113.11", userAgent: "curl" };
  expect(await events(query)).toMatchObject([{ aboutUserId: inDoomed.userId, origin }]);
});

test("everything about a user, and about a project, is found by its id, whatever object it happened to", async () => {
  const { userId, client } = await signedUp(postern);
  const { projectId } = answered(await postern.admin.post("/v1/projects", { name: unique("Project") }));
  answered(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "a" }));
  const grant = answered(await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["a"] }));
  answered(await postern.admin.delete(`/v1/user-grants/${grant.userGrantId}`));
  answered(await postern.admin.post(`/v1/projects/${projectId}/members`, { userId, roles: ["PROJECT_OWNER"] }));
  answered(await postern.admin.delete(`/v1/projects/${projectId}/members/${userId}`));
  const app = answered(await postern.admin.post(`/v1/projects/${projectId}/applications/api`, { name: unique("API") }));
  answered(await postern.admin.delete(`/v1/projects/${projectId}/applications/${app.appId}`));
  answered(await client.post("/v1/users/me/factors:startTotp", {}));

  const aboutUser = await events(`aboutUserId=${userId}`);
  expect(new Set(aboutUser.map((event) => event.aboutUserId))).toEqual(new Set([userId]));
  for (const type of [
    "user.human_created",
    "session.created",
    "user_grant.added",
    "user_grant.removed",
    "member.added",
  ])
    expect(typesOf(aboutUser)).toContain(type);
  expect(typesOf(aboutUser)).toEqual(expect.arrayContaining(["member.removed", "factor.enrolment_started"]));

  const ofProject = typesOf(await events(`projectId=${projectId}`)).toReversed();
  expect(ofProject).toEqual([
    ...["project.created", "project.role_added", "user_grant.added", "user_grant.removed", "member.added"],
    ...["member.removed", "application.api_created", "application.deleted"],
  ]);
  expect(typesOf(await events(`projectId=${projectId}&aboutUserId=${userId}`)).toReversed()).toEqual(
    ofProject.slice(2, 6),
  );
  const stranger = await organization(postern);
  expect(await events(`aboutUserId=${userId}`, inside(stranger))).toEqual([]);
  expect(await events(`projectId=${projectId}`, inside(stranger))).toEqual([]);
});

test("the events of several types of an organization come in one order, page by page", async () => {
  const other = await organization(postern);
  for (let at = 0; at < 3; at++) {
    const { projectId } = answered(await postern.admin.post("/v1/projects", { name: unique("P") }, inside(other)));
    answered(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "a" }, inside(other)));
  }
  const found: Event[] = [];
  for (let token = ""; ; ) {
    const query = `types=project.created&types=project.role_added&types=project.created&pageSize=2&pageToken=${token}`;
    const page = answered(await postern.admin.get(`/v1/events?${query}`, inside(other)));
    expect(page.events).toHaveLength(2);
    found.push(...page.events);
    token = page.nextPageToken;
    if (!token) break;
  }
  const pair = ["project.role_added", "project.created"];
  expect(typesOf(found)).toEqual([...pair, ...pair, ...pair]);
});

test("an event that an earlier release writes is about the same, and events are changed by nobody", async () => {
  await using client = oneConnection(postern.databaseUrl);
  const { userId } = await signedUp(postern);
  const owner = postern.organizationId;
  const write = (type: string, payload: object, version = 1) =>
    client.sql.unsafe(
      `insert into events (owner, stream, version, type, payload, request_id, time)
     values ('${owner}', 'old', ${version}, '${type}', '${JSON.stringify(payload)}', 'r', now())`,
    );
  await write("user_grant.added", { userId, projectId: "p-of-old", roleKeys: [] });
  await write("user_grant.deactivated", {}, 2);
  expect(typesOf(await events(`aboutUserId=${userId}&objectId=old`))).toEqual([
    ...["user_grant.deactivated", "user_grant.added"],
  ]);
  for (const change of ["project_id = 'other'", "about_user_id = null", "payload = '{}'", "origin = '{}'"])
    await expect(client.sql.unsafe(`update events set ${change} where stream = 'old'`)).rejects.toThrow(
      /never changed/,
    );
});

test("a session says where it began and when and where it was used last", async () => {
  const { client } = await signedUp(postern);
  const list = async () => answered(await client.get("/v1/sessions")).sessions;
  const [begun] = await list();
  expect(begun.origin).toEqual({ userAgent: expect.any(String) });
  expect(begun).not.toHaveProperty("lastUsedDate");
  await using database = oneConnection(postern.databaseUrl);
  const earlier = "created - interval '2 hours'";
  await database.sql.unsafe(
    `update sessions set created = ${earlier}, changed = ${earlier} where session_id = '${begun.id}'`,
  );
  await using other = await startPostern({ ...settings, databaseUrl: postern.databaseUrl });
  answered(await other.as(client.token).get("/v1/users/me", from("203.0.113.12", "Mozilla/5.0")));
  await expect
    .poll(async () => (await list())[0].lastUsedOrigin, { timeout: 30_000 })
    .toEqual({
      ...{ address: "203.0.113.12", userAgent: "Mozilla/5.0" },
    });
  expect(Math.abs(Date.parse((await list())[0].lastUsedDate) - Date.now())).toBeLessThan(600_000);
});
