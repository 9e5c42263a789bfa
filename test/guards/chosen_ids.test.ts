import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type Client, machine, organization, type Postern, startPostern } from "../harness.ts";

let postern: Postern;
let owner: Client;
let projectId: string;
let elsewhere: string;
const headers: Record<string, string> = {};

beforeAll(async () => {
  postern = await startPostern({ chosenIds: "instance_owners" });
  headers["x-service-orgid"] = await organization(postern);
  elsewhere = (await machine(postern)).userId;
  const { userId, client } = await machine(postern, { organizationId: headers["x-service-orgid"] });
  const member = { userId, roles: ["ORG_OWNER"] };
  expect((await postern.admin.post("/v1/members", member, headers)).status).toBe(200);
  owner = client;
  projectId = (await owner.post("/v1/projects", { name: "shop" }, headers)).body.projectId;
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const person = { username: "grace", givenName: "Grace", familyName: "Hopper", email: "grace@example.com" };
const refusedAt = ({ status, body }: Answer) => [
  status,
  body.details?.[0]?.reason,
  body.details
    ?.flatMap(({ fieldViolations = [] }: { fieldViolations?: { field: string; reason: string }[] }) => fieldViolations)
    .map(({ field, reason }: { field: string; reason: string }) => `${field} ${reason}`),
];

/** Requests with an id of one's choice, and the fields that choose one. */
const requests = (id: string): readonly [path: string, body: object, fields: readonly string[]][] => [
  ["/v1/users/human", { ...person, userId: id }, ["userId"]],
  ["/v1/users/machine", { username: "job", name: "Job", userId: id }, ["userId"]],
  [
    "/v1/users:batchCreate",
    {
      items: [
        { human: person },
        { machine: { username: "job", name: "Job", userId: id } },
        { human: { ...person, userId: id } },
      ],
    },
    ["items[1].machine.userId", "items[2].human.userId"],
  ],
  [`/v1/projects/${projectId}/applications/oidc`, { name: "web", clientId: id }, ["clientId"]],
  [`/v1/projects/${projectId}/applications/api`, { name: "api", clientId: id }, ["clientId"]],
];

test("only an owner of the instance learns whether an id was ever used, where the instance says so", async () => {
  for (const id of ["never-used", elsewhere])
    for (const [path, body, fields] of requests(id)) {
      const answer = await owner.post(path, body, headers);
      expect(refusedAt(answer), path).toEqual([403, "PERMISSION_DENIED", fields.map((field) => `${field} CHOSEN_ID`)]);
    }
  const [, taken] = refusedAt(await postern.admin.post("/v1/users/human", { ...person, userId: elsewhere }, headers));
  expect(taken).toBe("ID_TAKEN");
});

test("beside other wrong fields, an id of another organization is not told to be used", async () => {
  const answer = await owner.post("/v1/users/human", { ...person, givenName: "", userId: elsewhere }, headers);
  expect(refusedAt(answer)).toEqual([400, "VALIDATION_FAILED", ["givenName REQUIRED"]]);
});

test("generated ids are for everybody, and chosen ones for owners of the instance", async () => {
  expect((await owner.post("/v1/users/human", person, headers)).status).toBe(200);
  for (const [path, body] of requests("moved")) {
    if (path.endsWith("human") || path.endsWith("Create")) continue;
    const answer = await postern.admin.post(
      path,
      { ...body, ...(path.includes("api") && { clientId: "moved-api" }) },
      headers,
    );
    expect(answer.status, path).toBe(200);
  }
});
