import { readFile } from "node:fs/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EvaluateManyRequestSchema } from "../../../gen/postern/v1/authorization_pb.ts";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  sharedPostern,
  signedUp,
  startPostern,
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
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const fieldsOf = ({ body }: Answer) =>
  body.details.flatMap(({ fieldViolations = [] }) => fieldViolations).map(({ field }: { field: string }) => field);
const within = (organizationId: string) => ({ "x-service-orgid": organizationId });
const unique = () => crypto.randomUUID().slice(0, 12);

type Question = {
  readonly userId: string;
  readonly projectId: string;
  readonly role?: string;
  /** The organization whose grants count. */
  readonly from?: string;
};

const partsOf = ({ userId, projectId, role = "viewer", from }: Question) => ({
  subject: { type: "user", id: userId },
  action: { name: role },
  resource: { type: "project", id: projectId, ...(from && { properties: { organizationId: from } }) },
});
const ask = (question: Question, by: Client = postern.admin) => by.post("/access/v1/evaluation", partsOf(question));
const decide = async (question: Question, by?: Client) => done(await ask(question, by));
const askMany = (body: object, by: Client = postern.admin) => by.post("/access/v1/evaluations", body);

const yes = { decision: true };
const no = (reason: string) => ({ decision: false, context: { reason: `DENIAL_REASON_${reason}` } });

/** A project of a new organization with two roles, and a user of it who was granted the first. */
async function world() {
  const { admin } = postern;
  const organizationId = await organization(postern);
  const here = within(organizationId);
  const { userId, client } = await signedUp(postern, { organizationId });
  const { projectId } = done(await admin.post("/v1/projects", { name: unique() }, here));
  for (const key of ["viewer", "editor"]) done(await admin.post(`/v1/projects/${projectId}/roles`, { key }, here));
  const { userGrantId } = done(
    await admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["viewer"] }, here),
  );
  return { organizationId, here, userId, client, projectId, userGrantId };
}

type World = Awaited<ReturnType<typeof world>>;

/** The project of the world, granted to another organization with one role, and a user who was granted that there. */
async function lent({ projectId, here }: World) {
  const organizationId = await organization(postern);
  const there = within(organizationId);
  const wanted = { grantedOrganizationId: organizationId, roleKeys: ["viewer"] };
  const { projectGrantId } = done(await postern.admin.post(`/v1/projects/${projectId}/grants`, wanted, here));
  const { userId } = await signedUp(postern, { organizationId });
  const grant = { projectId, projectGrantId, roleKeys: ["viewer"] };
  const { userGrantId } = done(await postern.admin.post(`/v1/users/${userId}/grants`, grant, there));
  return { organizationId, there, projectGrantId, userId, userGrantId };
}

/** A machine with one role in a scope. */
async function holder(role: string, scope: object, headers: Record<string, string>): Promise<Client> {
  const { userId, client } = await machine(postern);
  done(await postern.admin.post("/v1/members", { userId, roles: [role], ...scope }, headers));
  return client;
}

describe("a decision", () => {
  test("is a permission while a grant gives the role, in whatever organization", async () => {
    const it = await world();
    const there = await lent(it);
    expect(await decide(it)).toEqual(yes);
    expect(await decide({ ...it, role: "editor" })).toEqual(no("ROLE_NOT_HELD"));
    expect(await decide({ ...it, from: there.organizationId })).toEqual(no("ROLE_NOT_HELD"));
    const guest = { userId: there.userId, projectId: it.projectId };
    expect(await decide({ ...guest })).toEqual(yes);
    expect(await decide({ ...guest, from: there.organizationId })).toEqual(yes);
    expect(await decide({ ...guest, from: it.organizationId })).toEqual(no("ROLE_NOT_HELD"));
  });

  test("follows the grant at once", async () => {
    const it = await world();
    const path = `/v1/user-grants/${it.userGrantId}`;
    done(await postern.admin.put(path, { roleKeys: ["editor"] }, it.here));
    expect(await decide(it)).toEqual(no("ROLE_NOT_HELD"));
    expect(await decide({ ...it, role: "editor" })).toEqual(yes);
    done(await postern.admin.delete(path, it.here));
    expect(await decide({ ...it, role: "editor" })).toEqual(no("ROLE_NOT_HELD"));
  });

  test.each([
    ["USER_GRANT_INACTIVE", ({ userGrantId }: World) => `/v1/user-grants/${userGrantId}`],
    ["PROJECT_INACTIVE", ({ projectId }: World) => `/v1/projects/${projectId}`],
    ["USER_INACTIVE", ({ userId }: World) => `/v1/users/${userId}`],
    ["ORGANIZATION_INACTIVE", ({ organizationId }: World) => `/v1/organizations/${organizationId}`],
  ])("is a denial while something is deactivated: %s", async (reason, pathOf) => {
    const it = await world();
    done(await postern.admin.post(`${pathOf(it)}:deactivate`, {}, it.here));
    expect(await decide(it)).toEqual(no(reason));
    done(await postern.admin.post(`${pathOf(it)}:reactivate`, {}, it.here));
    expect(await decide(it)).toEqual(yes);
  });

  test("is a denial while the organization of the user, or the one that granted, is deactivated", async () => {
    const it = await world();
    const there = await lent(it);
    const guest = await signedUp(postern, there);
    done(await postern.admin.post(`/v1/users/${guest.userId}/grants`, rolesIn(it), it.here));
    const path = `/v1/organizations/${there.organizationId}`;
    done(await postern.admin.post(`${path}:deactivate`, {}));
    expect(await decide({ userId: there.userId, projectId: it.projectId })).toEqual(no("ORGANIZATION_INACTIVE"));
    expect(await decide({ userId: guest.userId, projectId: it.projectId })).toEqual(no("USER_INACTIVE"));
    done(await postern.admin.post(`${path}:reactivate`, {}));
    expect(await decide({ userId: guest.userId, projectId: it.projectId })).toEqual(yes);
  });

  test("is a permission if one of several grants counts", async () => {
    const it = await world();
    const there = await lent(it);
    const grant = { projectId: it.projectId, projectGrantId: there.projectGrantId, roleKeys: ["viewer"] };
    done(await postern.admin.post(`/v1/users/${it.userId}/grants`, grant, there.there));
    done(await postern.admin.post(`/v1/user-grants/${it.userGrantId}:deactivate`, {}, it.here));
    expect(await decide(it)).toEqual(yes);
    expect(await decide({ ...it, from: it.organizationId })).toEqual(no("USER_GRANT_INACTIVE"));
  });

  test("is a denial once the grant of the project has lost the role, or is revoked", async () => {
    const it = await world();
    const there = await lent(it);
    const guest = { userId: there.userId, projectId: it.projectId };
    const path = `/v1/projects/${it.projectId}/grants/${there.projectGrantId}`;
    done(await postern.admin.put(path, { roleKeys: ["editor"] }, it.here));
    expect(await decide(guest)).toEqual(no("ROLE_NOT_HELD"));
    const other = await lent(it);
    done(await postern.admin.delete(`/v1/projects/${it.projectId}/grants/${other.projectGrantId}`, it.here));
    expect(await decide({ userId: other.userId, projectId: it.projectId })).toEqual(no("ROLE_NOT_HELD"));
  });

  test("is the same for what is deleted and for what has never been", async () => {
    const gone = { role: await world(), user: await world(), project: await world(), organization: await world() };
    const lost = await lent(gone.organization);
    const home = await world();
    const guest = { userId: gone.organization.userId, projectId: home.projectId };
    done(await postern.admin.post(`/v1/users/${guest.userId}/grants`, rolesIn(home), home.here));
    expect(await decide(guest)).toEqual(yes);
    done(await postern.admin.delete(`/v1/projects/${gone.role.projectId}/roles/viewer`, gone.role.here));
    done(await postern.admin.delete(`/v1/users/${gone.user.userId}`));
    done(await postern.admin.delete(`/v1/projects/${gone.project.projectId}`, gone.project.here));
    done(await postern.admin.delete(`/v1/organizations/${gone.organization.organizationId}`));
    for (const it of [...Object.values(gone), guest]) expect(await decide(it)).toEqual(no("ROLE_NOT_HELD"));
    expect(await decide({ userId: lost.userId, projectId: gone.organization.projectId })).toEqual(no("ROLE_NOT_HELD"));
    const it = await world();
    for (const never of [{ userId: "nobody" }, { projectId: "none" }, { role: "none" }, { from: "none" }])
      expect(await decide({ ...it, ...never })).toEqual(no("ROLE_NOT_HELD"));
    const parts = partsOf(it);
    for (const other of [{ subject: { type: "group", id: it.userId } }, { resource: { type: "document", id: "1" } }])
      expect(done(await postern.admin.post("/access/v1/evaluation", { ...parts, ...other }))).toEqual(
        no("ROLE_NOT_HELD"),
      );
  });
});

const rolesIn = ({ projectId }: { projectId: string }) => ({ projectId, roleKeys: ["viewer"] });

describe("who may ask", () => {
  test("about a project: who may evaluate in it or in its organization", async () => {
    const it = await world();
    const other = await world();
    const { projectId } = it;
    for (const client of [
      await holder("PROJECT_EVALUATOR", { projectId }, it.here),
      await holder("PROJECT_VIEWER", { projectId }, it.here),
      await holder("ORG_VIEWER", {}, it.here),
    ]) {
      expect(await decide(it, client)).toEqual(yes);
      expect(await decide({ ...it, userId: "nobody" }, client)).toEqual(no("ROLE_NOT_HELD"));
      // A project of others is like one that is not there.
      for (const foreign of [other.projectId, "none"])
        expect(refused(await ask({ ...it, projectId: foreign }, client))).toEqual([403, "PERMISSION_DENIED"]);
    }
  });

  test("a PROJECT_EVALUATOR can do nothing else", async () => {
    const it = await world();
    const client = await holder("PROJECT_EVALUATOR", { projectId: it.projectId }, it.here);
    for (const path of [`/v1/projects/${it.projectId}`, `/v1/projects/${it.projectId}/user-grants`, "/v1/users"])
      expect(refused(await client.get(path, it.here))).toEqual([403, "PERMISSION_DENIED"]);
  });

  test("about a project that was granted: its grantees, about their own grants", async () => {
    const it = await world();
    const { organizationId, there, projectGrantId, userId } = await lent(it);
    const question = { userId, projectId: it.projectId, from: organizationId };
    for (const client of [
      await holder("PROJECT_GRANT_VIEWER", { projectId: it.projectId, projectGrantId }, there),
      await holder("ORG_VIEWER", {}, there),
    ]) {
      expect(await decide(question, client)).toEqual(yes);
      for (const wider of [
        { ...question, from: it.organizationId },
        { userId, projectId: it.projectId },
      ])
        expect(refused(await ask(wider, client))).toEqual([403, "PERMISSION_DENIED"]);
    }
  });

  test("everybody about oneself, by id or `me`, and by a limited token only with its permission", async () => {
    const it = await world();
    const colleague = await signedUp(postern, it);
    expect(await decide(it, it.client)).toEqual(yes);
    expect(await decide({ ...it, userId: "me" }, it.client)).toEqual(yes);
    expect(await decide({ ...it, userId: "me" }, colleague.client)).toEqual(no("ROLE_NOT_HELD"));
    expect(refused(await ask(it, colleague.client))).toEqual([403, "PERMISSION_DENIED"]);
    const robot = await machine(postern, it);
    const permissions = ["user.read"];
    const { token } = done(await postern.admin.post(`/v1/users/${robot.userId}/tokens`, { permissions }, it.here));
    expect(refused(await ask({ ...it, userId: "me" }, postern.as(token)))).toEqual([403, "PERMISSION_DENIED"]);
    expect(await decide({ ...it, userId: "me" }, robot.client)).toEqual(no("ROLE_NOT_HELD"));
    expect((await ask(it, postern.as())).status).toBe(401);
    const member = { userId: robot.userId, roles: ["PROJECT_EVALUATOR"], projectId: it.projectId };
    done(await postern.admin.post("/v1/members", member, it.here));
    const limit = { permissions: ["authorization.evaluate"] };
    const limited = postern.as(
      done(await postern.admin.post(`/v1/users/${robot.userId}/tokens`, limit, it.here)).token,
    );
    expect(await decide(it, limited)).toEqual(yes);
    const elsewhere = { userId: "me", projectId: (await world()).projectId };
    expect(refused(await ask(elsewhere, limited))).toEqual([403, "PERMISSION_DENIED"]);
    expect(await decide(elsewhere, robot.client)).toEqual(no("ROLE_NOT_HELD"));
  });

  test("among many, what the caller may not ask is denied by itself; all of it refuses the call", async () => {
    const it = await world();
    const other = await world();
    const client = await holder("PROJECT_EVALUATOR", { projectId: it.projectId }, it.here);
    const mixed = { evaluations: [partsOf(it), partsOf(other), partsOf({ ...it, role: "editor" })] };
    expect(done(await askMany(mixed, client)).evaluations).toEqual([yes, no("NOT_PERMITTED"), no("ROLE_NOT_HELD")]);
    expect(refused(await askMany({ evaluations: [partsOf(other)] }, client))).toEqual([403, "PERMISSION_DENIED"]);
    expect(refused(await askMany(partsOf(other), client))).toEqual([403, "PERMISSION_DENIED"]);
  });
});

describe("many questions", () => {
  test("take what they leave out from the top of the request, part by part", async () => {
    const [it, other] = [await world(), await world()];
    const { subject, action, resource } = partsOf(it);
    const body = {
      ...{ subject, action, resource },
      evaluations: [
        {},
        { action: { name: "editor" } },
        { resource: partsOf(other).resource },
        { subject: partsOf(other).subject, resource: partsOf(other).resource },
      ],
    };
    const { decision, evaluations } = done(await askMany(body));
    expect(decision).toBeUndefined();
    expect(evaluations).toEqual([yes, no("ROLE_NOT_HELD"), no("ROLE_NOT_HELD"), yes]);
    // A part is replaced as a whole: this subject has no id.
    const lacking = { ...body, evaluations: [{}, { subject: { type: "user" } }, { resource: {} }] };
    expect(done(await askMany(lacking)).evaluations).toEqual([yes, no("INCOMPLETE"), no("INCOMPLETE")]);
  });

  test("without any, the top of the request is decided", async () => {
    const it = await world();
    for (const evaluations of [undefined, []])
      expect(done(await askMany({ ...partsOf(it), evaluations }))).toMatchObject(yes);
    const { action, resource } = partsOf(it);
    const lacking = await askMany({ action, resource });
    expect([refused(lacking), fieldsOf(lacking)]).toEqual([[400, "VALIDATION_FAILED"], ["subject"]]);
  });

  test.each([
    ["execute_all", 4],
    [undefined, 4],
    ["deny_on_first_deny", 2],
    ["permit_on_first_permit", 1],
  ])("by %s end after %d", async (semantic, length) => {
    const it = await world();
    const { subject, resource } = partsOf(it);
    const evaluations = ["viewer", "editor", "viewer", "none"].map((name) => ({ action: { name } }));
    const options = semantic && { evaluations_semantic: semantic, another_option: "value" };
    const answer = done(await askMany({ subject, resource, evaluations, options }));
    expect(answer.evaluations.map(({ decision }: { decision: boolean }) => decision)).toEqual(
      [true, false, true, false].slice(0, length),
    );
  });

  test("by an unknown semantic are refused", async () => {
    const answer = await askMany({ ...partsOf(await world()), options: { evaluations_semantic: "some" } });
    expect([refused(answer), fieldsOf(answer)]).toEqual([[400, "VALIDATION_FAILED"], ["options.evaluations_semantic"]]);
  });

  test("are a thousand in one call, in their order", async () => {
    const it = await world();
    const { subject, resource } = partsOf(it);
    const names = Array.from({ length: 1000 }, (_, n) => (n % 3 === 0 ? "viewer" : `role${n}`));
    const asked = { subject, resource, evaluations: names.map((name) => ({ action: { name } })) };
    const { evaluations } = done(await askMany(asked));
    expect(evaluations).toEqual(names.map((name) => (name === "viewer" ? yes : no("ROLE_NOT_HELD"))));
    const more = await askMany({ ...asked, evaluations: [...asked.evaluations, {}] });
    expect([refused(more), fieldsOf(more)]).toEqual([[400, "VALIDATION_FAILED"], ["evaluations"]]);
  });

  test("and single ones that come together get the decisions of their own", async () => {
    const [it, other] = [await world(), await world()];
    const questions = Array.from({ length: 60 }, (_, n) => (n % 2 ? it : { ...it, projectId: other.projectId }));
    const [many, ...single] = await Promise.all([
      askMany({ evaluations: questions.map(partsOf) }),
      ...questions.map((question) => decide(question)),
    ]);
    expect(single).toEqual(questions.map((question) => (question === it ? yes : no("ROLE_NOT_HELD"))));
    expect(done(many).evaluations).toEqual(single);
  });
});

describe("as AuthZEN has it", () => {
  test("properties, context and fields that are unknown have no effect", async () => {
    const it = await world();
    const { subject, action, resource } = partsOf(it);
    const properties = { department: "Sales", ids: [1, { deep: null }], __proto__: 1 };
    const body = {
      subject: { ...subject, properties, extra: 1 },
      action: { ...action, properties: { method: "GET" } },
      resource: { ...resource, properties: { status: "archived" } },
      context: { time: "1985-10-26T01:22-07:00", nested: { a: [true, "b"] } },
      future_field: { any: ["thing"] },
    };
    expect(done(await postern.admin.post("/access/v1/evaluation", body))).toEqual(yes);
    expect(done(await askMany({ ...body, evaluations: [{ future: 1 }] })).evaluations).toEqual([yes]);
    // Only here: elsewhere a field that is unknown is a mistake.
    expect((await postern.admin.post("/v1/projects", { name: unique(), future_field: 1 })).status).toBe(400);
  });

  test.each([
    [{}, ["subject", "action", "resource"]],
    [
      { subject: {}, action: {}, resource: { type: "project" } },
      ["subject.type", "subject.id", "action.name", "resource.id"],
    ],
    [{ subject: "ada" }, ["subject", "action", "resource"]],
    [{ subject: { type: 7, id: "x".repeat(201) } }, ["subject.type", "subject.id", "action", "resource"]],
    [
      { resource: { type: "project", id: "p", properties: { organizationId: 7 } } },
      ["subject", "action", organizationPath],
    ],
    [
      { resource: { type: "project", id: "p", properties: { organizationId: "" } } },
      ["subject", "action", organizationPath],
    ],
    [{ context: ["a"] }, ["context", "subject", "action", "resource"]],
  ])("a malformed question is refused by its fields: %j", async (body, fields) => {
    const answer = await postern.admin.post("/access/v1/evaluation", body);
    expect([refused(answer), fieldsOf(answer).sort()]).toEqual([[400, "VALIDATION_FAILED"], [...fields].sort()]);
  });

  test("the request id of the caller is that of the response, also of a refusal", async () => {
    const it = await world();
    const id = "bfe9eb29 ab87:4ca3";
    const named = { "x-request-id": id };
    const evaluation = "/access/v1/evaluation";
    const answers = [
      await postern.admin.post(evaluation, partsOf(it), named),
      await postern.admin.post("/access/v1/evaluations", { evaluations: [partsOf(it)] }, named),
      await postern.admin.post(evaluation, {}, named),
      await it.client.post(evaluation, partsOf(await world()), named),
      await postern.as().post(evaluation, partsOf(it), named),
      await postern.admin.post("/postern.v1.AuthorizationService/Evaluate", partsOf(it), named),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 403, 401, 200]);
    expect(answers.map(({ headers }) => headers.get("x-request-id"))).toEqual(answers.map(() => id));
    // Our own id where there is none that could be repeated, and for every other operation.
    const others = [
      await postern.admin.post(evaluation, partsOf(it)),
      await postern.admin.post(evaluation, partsOf(it), { "x-request-id": "x".repeat(201) }),
      await postern.admin.get("/v1/users/me", named),
    ];
    for (const { headers } of others) expect(headers.get("x-request-id")).toMatch(/^[0-9a-z]{24}$/);
  });

  test("the configuration names the endpoints, to anybody", async () => {
    const endpoints = (base: string) => ({
      policy_decision_point: base,
      access_evaluation_endpoint: `${base}/access/v1/evaluation`,
      access_evaluations_endpoint: `${base}/access/v1/evaluations`,
    });
    const path = "/.well-known/authzen-configuration";
    expect(done(await postern.as().get(path))).toEqual(endpoints(postern.url));
    await using set = await startPostern({ publicUrl: "https://identity.example.com/" });
    expect(done(await set.as().get(path))).toEqual(endpoints("https://identity.example.com"));
  });
});

const organizationPath = "resource.properties.organizationId";

const inside = (field: number, bytes: Uint8Array) =>
  new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish();

/** An open object in the binary format that nests so deep. */
function deep(depth: number) {
  let bytes = new Uint8Array();
  for (let level = 0; level < depth; level += 1) bytes = inside(1, inside(2, inside(5, bytes)));
  return bytes;
}

describe("hostile questions", () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

  test("that nest too deep, or hold too many values, are refused before they are decoded", async () => {
    const parts = JSON.stringify(partsOf(await world())).slice(0, -1);
    const sent = (context: string) => postern.admin.post("/access/v1/evaluation", `${parts}, "context": ${context}}`);
    expect(refused(await sent(nested(5_000)))).toEqual([400, "MALFORMED_BODY"]);
    const crowded = await sent(`{"a": [${"0,".repeat(10_000)}0]}`);
    expect([refused(crowded), fieldsOf(crowded)]).toEqual([[400, "VALIDATION_FAILED"], ["context"]]);
    expect((await sent(`"${"x".repeat(70_000)}"`)).status).toBe(413);
    expect((await sent(nested(50))).status).toBe(200);
  });

  test("in the binary format are refused too", async () => {
    const sent = async (bytes: Uint8Array<ArrayBuffer>) => {
      const headers = { "content-type": "application/proto", authorization: `Bearer ${postern.admin.token}` };
      const url = `${postern.url}/postern.v1.AuthorizationService/EvaluateMany`;
      const answer = await fetch(url, { method: "POST", headers, body: bytes });
      const { details } = (await answer.json()) as Answer["body"];
      return [answer.status, details[0].debug.reason];
    };
    // Empty questions: two bytes each.
    expect(await sent(new Uint8Array(1_000_000).map((_, at) => (at % 2 ? 0 : 0x2a)))).toEqual([
      400,
      "VALIDATION_FAILED",
    ]);
    expect(await sent(inside(4, deep(150)))).toEqual([400, "MALFORMED_BODY"]);
    const context = { a: new Array(10_001).fill(0) };
    const crowded = toBinary(EvaluateManyRequestSchema, create(EvaluateManyRequestSchema, { context }));
    expect(await sent(crowded)).toEqual([400, "VALIDATION_FAILED"]);
  });
});

test("the examples of docs/authorization.md are answered as they stand there", async () => {
  const page = await readFile(new URL("../../../docs/authorization.md", import.meta.url), "utf8");
  const it = await world();
  const other = await world();
  const names: Readonly<Record<string, string>> = { ada: it.userId, shop: it.projectId, stock: other.projectId };
  const filled = (text: string) => text.replaceAll(/"(ada|shop|stock)"/g, (_, name) => JSON.stringify(names[name]));
  const client = await holder("PROJECT_EVALUATOR", { projectId: it.projectId }, it.here);
  const examples = [...page.matchAll(/```http\nPOST (\S+)\n\n(.*?)```\s+```json\n(.*?)```/gs)];
  expect(examples.length).toBeGreaterThan(2);
  for (const [, path = "", request = "", answer = ""] of examples)
    expect(done(await client.post(path, JSON.parse(filled(request))))).toEqual(JSON.parse(answer));
});
