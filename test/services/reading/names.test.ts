import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { type Answer, type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const patch = (path: string, body: object) => postern.admin.call("PATCH", path, body);
const unique = () => crypto.randomUUID().slice(0, 12);

/** The kinds of objects with names: where they are made, how they are named, and the refusal of a name that is taken. */
const kinds = {
  organization: {
    path: async () => "/v1/organizations",
    id: "organizationId",
    of: "",
    taken: "ORGANIZATION_NAME_TAKEN",
  },
  project: { path: async () => "/v1/projects", id: "projectId", of: "", taken: "PROJECT_NAME_TAKEN" },
  "OIDC application": {
    path: async () => `/v1/projects/${await newProject()}/applications/oidc`,
    ...{ id: "appId", of: "/oidc", taken: "APPLICATION_NAME_TAKEN" },
  },
  "API application": {
    path: async () => `/v1/projects/${await newProject()}/applications/api`,
    ...{ id: "appId", of: "/api", taken: "APPLICATION_NAME_TAKEN" },
  },
} as const;

const newProject = async (): Promise<string> =>
  done(await postern.admin.post("/v1/projects", { name: `Of ${unique()}` })).projectId;

const named = Object.entries(kinds);

/** Names that people read as the same, beginning with the first. */
function alike() {
  const tail = unique();
  return [
    `Café ${tail}`,
    `Cafe\u0301 ${tail}`,
    `Cafe\u034f\u0301 ${tail}`,
    `CAFÉ ${tail}`,
    `Café\u00a0${tail}`,
    `Café  \u2003 ${tail}`,
    `Ca\u200bfé ${tail}\u200b`,
    `Caf\u00adé ${tail}`,
    `Ｃafé ${tail}`,
    `Café \u2060${tail}\u2800`,
  ] as const;
}

test.each(named)(
  "two names of one kind (%s) that people read as the same are the same, new or changed",
  async (_, kind) => {
    const path = await kind.path();
    const [first, ...others] = alike();
    const { [kind.id]: id } = done(await postern.admin.post(path, { name: first }));
    const other = done(await postern.admin.post(path, { name: `Other ${unique()}` }))[kind.id];
    const at = (one: string) => `${kind.of === "" ? path : path.slice(0, -kind.of.length)}/${one}${kind.of}`;
    for (const name of others) {
      expect(refused(await postern.admin.post(path, { name }))).toEqual([409, kind.taken]);
      expect(refused(await patch(at(other), { name }))).toEqual([409, kind.taken]);
    }
    for (const name of others) done(await patch(at(id), { name }));
    done(await postern.admin.post(path, { name: `${first}s` }));
  },
);

test.each(named)(
  "of names of one kind (%s) that are read as the same and come at once, one is taken",
  async (_, kind) => {
    const path = await kind.path();
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(alike().map((name) => postern.admin.post(path, { name })));
      const outcomes = answers.map((answer) => (answer.status === 200 ? "OK" : refused(answer)[1]));
      expect(outcomes.filter((outcome) => outcome === "OK")).toHaveLength(1);
      expect(new Set(outcomes)).toEqual(new Set(["OK", kind.taken]));
    }
  },
);

test("names that looked the same before stay, and their objects change; nobody else takes them", async () => {
  const [name, twin, third] = alike();
  await using database = openClient(postern.databaseUrl);
  const { projectId } = done(await postern.admin.post("/v1/projects", { name }));
  const other = done(await postern.admin.post("/v1/projects", { name: unique() })).projectId;
  // Names of the time before they were compared have no key.
  await database.client`update instance set names_compared_since = 'infinity'`;
  await database.client`update projects set name = name || ' ' where project_id = ${projectId}`;
  await database.client`update projects set name = ${name} where project_id = ${projectId}`;
  await database.client`update projects set name = ${twin} where project_id = ${other}`;
  await database.client`update instance set names_compared_since = '-infinity'`;
  for (const [id, own] of Object.entries({ [projectId]: name, [other]: twin })) {
    const path = `/v1/projects/${id}`;
    done(await patch(path, { grantRequired: true }));
    done(await patch(path, { name: own, grantRequired: false }));
    expect(refused(await patch(path, { name: third }))).toEqual([409, "PROJECT_NAME_TAKEN"]);
  }
  expect(refused(await postern.admin.post("/v1/projects", { name: third }))).toEqual([409, "PROJECT_NAME_TAKEN"]);
  done(await patch(`/v1/projects/${other}`, { name: unique() }));
  done(await patch(`/v1/projects/${projectId}`, { name: third }));
});
