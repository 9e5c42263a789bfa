import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection, unique } from "../../events/log_of.ts";
import { type Answer, machine, organization, type Postern, startPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

type Detail = { reason?: string; fieldViolations?: { field: string }[]; metadata?: object };
const infoOf = ({ body }: Answer): Detail => body.details.find(({ reason }: Detail) => reason !== undefined);
const refused = (answer: Answer) => [answer.status, infoOf(answer).reason];
const fields = ({ body }: Answer) =>
  body.details.flatMap(({ fieldViolations = [] }: Detail) => fieldViolations.map(({ field }) => field));
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** A project of four roles, lent with two of them, and a user there who holds these. */
async function lent() {
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique("Project") }));
  for (const key of ["a", "b", "c", "d"]) done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key }));
  const other = await organization(postern);
  const wanted = { grantedOrganizationId: other, roleKeys: ["a", "b"] };
  const { projectGrantId } = done(await postern.admin.post(`/v1/projects/${projectId}/grants`, wanted));
  const path = `/v1/projects/${projectId}/grants/${projectGrantId}`;
  return { projectId, projectGrantId: projectGrantId as string, other, path };
}

type Lent = Awaited<ReturnType<typeof lent>>;

async function userGrant({ projectId, projectGrantId, other }: Lent, roleKeys: string[]): Promise<string> {
  const { userId } = await machine(postern);
  const wanted = { projectId, projectGrantId, roleKeys };
  return done(await postern.admin.post(`/v1/users/${userId}/grants`, wanted, inside(other))).userGrantId;
}

const change = (path: string, roleKeys: string[], more = {}, headers = {}) =>
  postern.admin.put(path, { roleKeys, ...more }, headers);
const rolesOf = async ({ other }: Lent, userGrantId: string) =>
  done(await postern.admin.get(`/v1/user-grants/${userGrantId}`, inside(other))).userGrant;
const eventsOf = async (id: string, headers = {}) =>
  done(await postern.admin.get(`/v1/events?objectId=${id}`, headers)).events;

test("roles are added and removed at once; user grants lose what is removed by a fact, and none is removed", async () => {
  const place = await lent();
  const [both, one] = [await userGrant(place, ["a", "b"]), await userGrant(place, ["b"])];
  const { details } = done(await change(place.path, ["b", "c"]));
  expect(details.sequence).toBe("2");
  const { projectGrants } = done(await postern.admin.get(`/v1/projects/${place.projectId}/grants`));
  expect(projectGrants).toMatchObject([{ id: place.projectGrantId, roleKeys: ["b", "c"], details }]);
  expect(await rolesOf(place, both)).toMatchObject({ roleKeys: ["b"], details: { sequence: "2" } });
  expect(await rolesOf(place, one)).toMatchObject({ roleKeys: ["b"], details: { sequence: "1" } });
  const [last] = await eventsOf(both, inside(place.other));
  expect(last).toMatchObject({ type: "user_grant.changed", fact: { userGrant: { changed: { roleKeys: ["b"] } } } });
  done(await postern.admin.put(`/v1/user-grants/${one}`, { roleKeys: ["b", "c"] }, inside(place.other)));
});

test("a user grant that loses all its roles at once stays, without any", async () => {
  const place = await lent();
  const both = await userGrant(place, ["a", "b"]);
  done(await change(place.path, []));
  expect(await rolesOf(place, both)).toMatchObject({ roleKeys: [], details: { sequence: "2" } });
  done(await change(place.path, ["a", "b", "c", "d"]));
  expect(await rolesOf(place, both)).toMatchObject({ roleKeys: [], details: { sequence: "2" } });
});

test("the same roles in another order change nothing, and another sequence is refused", async () => {
  const { path, projectGrantId } = await lent();
  expect(done(await change(path, ["b", "a"])).details.sequence).toBe("1");
  expect(await eventsOf(projectGrantId)).toHaveLength(1);
  const late = await change(path, ["a"], { expectedSequence: "4" });
  expect([...refused(late), infoOf(late).metadata]).toEqual([409, "CONFLICT", { currentSequence: "1" }]);
  done(await change(path, ["a"], { expectedSequence: "1" }));
});

test("roles that the project does not have are refused by index, and grants that are not there", async () => {
  const { path, other, projectId } = await lent();
  const unknown = await change(path, ["ghost", "a", "boo"]);
  expect([...refused(unknown), fields(unknown)]).toEqual([400, "ROLE_UNKNOWN", ["roleKeys[0]", "roleKeys[2]"]]);
  expect(refused(await change(`${path}x`, ["a"]))).toEqual([404, "PROJECT_GRANT_NOT_FOUND"]);
  expect(refused(await change(path, ["c"], {}, inside(other)))).toEqual([404, "PROJECT_NOT_FOUND"]);
  expect(refused(await change(path.replace(projectId, "none"), ["a"]))).toEqual([404, "PROJECT_NOT_FOUND"]);
});

test("no user grant keeps a role that its project grant lost while both change", async () => {
  const place = await lent();
  const { projectId, projectGrantId, other } = place;
  const users = await Promise.all(Array.from({ length: 6 }, () => machine(postern)));
  const grants = await Promise.all(Array.from({ length: 4 }, () => userGrant(place, ["a", "b"])));
  const calls = [
    ...Array.from({ length: 6 }, (_, at) => change(place.path, at % 2 === 0 ? ["a"] : ["b", "c"])),
    ...users.map(({ userId }) =>
      postern.admin.post(`/v1/users/${userId}/grants`, { projectId, projectGrantId, roleKeys: ["a"] }, inside(other)),
    ),
    ...grants.map((id) => postern.admin.put(`/v1/user-grants/${id}`, { roleKeys: ["b"] }, inside(other))),
  ];
  for (const { status, body } of await Promise.all(calls))
    expect([200, 400, 409], JSON.stringify(body)).toContain(status);
  done(await change(place.path, ["d"]));
  await using client = oneConnection(postern.databaseUrl);
  const stale = await client.sql`select from user_grant_roles where project_grant_id = ${projectGrantId}`;
  expect(stale).toHaveLength(0);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});
