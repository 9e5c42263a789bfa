import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  sharedPostern,
  signedUp,
} from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const reasonOf = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const within = (organizationId: string) => ({ "x-service-orgid": organizationId });

async function holder(role: string, organizationId: string, scope: object = {}): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId, roles: [role], ...scope }, within(organizationId)));
  return client;
}

const newProject = async (organizationId: string, name: string): Promise<string> =>
  done(await postern.admin.post("/v1/projects", { name }, within(organizationId))).projectId;

const list = (client: Client, query: Readonly<Record<string, string>>) =>
  client.get(`/v1/events?${new URLSearchParams(query)}`);

type Event = { readonly type: string; readonly resourceOwner: string; readonly projectId?: string };
const eventsOf = async (client: Client, query: Readonly<Record<string, string>>): Promise<Event[]> =>
  done(await list(client, query)).events;

test("whoever may change the users of an organization reads what happened about each of them, and no other events", async () => {
  const organizationId = await organization(postern);
  const { userId } = await signedUp(postern, { organizationId });
  const manager = await holder("ORG_USER_MANAGER", organizationId);
  const events = await eventsOf(manager, { aboutUserId: userId });
  expect(events.map(({ type }) => type)).toContain("user.human_created");
  for (const query of [{}, { objectId: userId }, { actorId: userId }, { types: "user.human_created" }])
    expect(reasonOf(await list(manager, query as Record<string, string>))).toEqual([403, "PERMISSION_DENIED"]);
  // A token that only reads users reads neither their sessions nor the addresses of these.
  const robot = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId: robot.userId, roles: ["ORG_OWNER"] }, within(organizationId)));
  const limited = done(await postern.admin.post(`/v1/users/${robot.userId}/tokens`, { permissions: ["user.read"] }));
  const narrow = await list(postern.as(limited.token), { aboutUserId: userId });
  expect(reasonOf(narrow)).toEqual([403, "PERMISSION_DENIED"]);
  const elsewhere = await holder("ORG_USER_MANAGER", await organization(postern));
  expect(await eventsOf(elsewhere, { aboutUserId: userId })).toEqual([]);
});

test("the owner of a project reads the history of that project alone, and who only reads roles nothing of it", async () => {
  const organizationId = await organization(postern);
  const [projectId, other] = [await newProject(organizationId, "Shop"), await newProject(organizationId, "Stock")];
  const { userId } = await signedUp(postern, { organizationId });
  const roles = { key: "viewer" };
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, roles, within(organizationId)));
  const grant = { projectId, roleKeys: ["viewer"] };
  done(await postern.admin.post(`/v1/users/${userId}/grants`, grant, within(organizationId)));
  const viewer = await holder("PROJECT_OWNER", organizationId, { projectId });
  const types = (await eventsOf(viewer, { projectId })).map(({ type }) => type);
  expect(types).toEqual(["member.added", "user_grant.added", "project.role_added", "project.created"]);
  const both = await eventsOf(viewer, { projectId, aboutUserId: userId });
  expect(both.map(({ type }) => type)).toEqual(["user_grant.added"]);
  expect(await eventsOf(viewer, { projectId, objectId: other })).toEqual([]);
  expect(reasonOf(await list(viewer, { projectId: other }))).toEqual([404, "PROJECT_NOT_FOUND"]);
  for (const query of [{}, { aboutUserId: userId }, { objectId: projectId }])
    expect(reasonOf(await list(viewer, query as Record<string, string>))).toEqual([403, "PERMISSION_DENIED"]);
  for (const role of ["PROJECT_VIEWER", "PROJECT_EVALUATOR"]) {
    const reader = await holder(role, organizationId, { projectId });
    expect(reasonOf(await list(reader, { projectId }))).toEqual([403, "PERMISSION_DENIED"]);
  }
});

test("a role on a project grant reads of the project what happened in its own organization", async () => {
  const [organizationId, partner] = [await organization(postern), await organization(postern)];
  const projectId = await newProject(organizationId, "Shop");
  const lent = { grantedOrganizationId: partner };
  const path = `/v1/projects/${projectId}/grants`;
  const { projectGrantId } = done(await postern.admin.post(path, lent, within(organizationId)));
  const viewer = await holder("PROJECT_GRANT_OWNER", partner, { projectId, projectGrantId });
  const events = await eventsOf(viewer, { projectId });
  expect(events.map(({ type, resourceOwner }) => [type, resourceOwner])).toEqual([["member.added", partner]]);
});

test("a watch of one project needs no more than its list", async () => {
  const organizationId = await organization(postern);
  const projectId = await newProject(organizationId, "Shop");
  const viewer = await holder("PROJECT_OWNER", organizationId, { projectId });
  await newProject(organizationId, "Stock");
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${viewer.token}`, accept: "application/x-ndjson" };
  const watch = (query: string) => fetch(`${postern.url}/v1/events:watch?${query}`, { headers, signal: stop.signal });
  expect((await watch("")).status).toBe(403);
  const response = await watch(`projectId=${projectId}&after=0`);
  expect(response.status).toBe(200);
  let text = "";
  for await (const part of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.includes("member.added")) break;
  }
  stop.abort();
  const events = text.split("\n").flatMap((line) => (line ? [JSON.parse(line).event as Event] : []));
  expect(events.map((event) => event.projectId)).toEqual([projectId, projectId]);
});
