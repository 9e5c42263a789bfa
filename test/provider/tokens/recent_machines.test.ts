// A node remembers the machines that asked for tokens moments ago, and what they held, until a fact ends that. Here nodes remember for an
// hour, so that nothing but the facts of the other node ends it.

import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId, systemCall } from "../../../src/deps.ts";
import type { Sql } from "../../../src/postgres/pool/connect.ts";
import { machineClientRead } from "../../../src/provider/request/machine.ts";
import { type MachineToken, writingMachineTokens } from "../../../src/provider/tokens/machine_token.ts";
import { hashToken, newToken } from "../../../src/security/token.ts";
import { openClient } from "../../fixture/database_client.ts";
import { organization, type Postern } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { newApi, unique } from "../delegation.ts";
import { done } from "../holding.ts";
import { bySecret, type GrantedMachine, grantedMachine } from "../machine.ts";

let nodes: TwoNodes;
let postern: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes({ cacheSeconds: 3_600 });
  postern = nodes.one;
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

type Request = { readonly machine: GrantedMachine; readonly form?: Readonly<Record<string, string>> };

/** What a node says to a machine that asks for a token. */
async function said(node: Postern, { machine, form }: Request): Promise<string> {
  const { status, body } = await bySecret(node.url, machine, form);
  return status === 200 ? "given" : body.error;
}

/** Something that a machine asks for, and what takes it away, or gives it back with another answer. */
type Scene = Request & { readonly end: () => Promise<unknown> };

const admin = () => postern.admin;
const of = (path: string, headers = {}) => admin().post(path, undefined, headers);

/** A machine with a grant in a project of another organization, which gave it itself or lent the project. */
async function abroad({ isLent }: { readonly isLent: boolean }) {
  const giver = await organization(postern);
  const inside = { "x-service-orgid": giver };
  const machine = await grantedMachine(postern);
  const { projectId } = done(await admin().post("/v1/projects", { name: unique() }, inside));
  done(await admin().post(`/v1/projects/${projectId}/roles`, { key: "viewer" }, inside));
  const lent = { grantedOrganizationId: postern.organizationId, roleKeys: ["viewer"] };
  const lending = isLent ? done(await admin().post(`/v1/projects/${projectId}/grants`, lent, inside)) : {};
  const { projectGrantId } = lending;
  const grant = { projectId, projectGrantId, roleKeys: ["viewer"] };
  done(await admin().post(`/v1/users/${machine.userId}/grants`, grant, isLent ? {} : inside));
  const scope = `urn:postern:project:id:${projectId}`;
  const form = { scope: isLent ? scope : `${scope} urn:postern:organization:id:${giver}` };
  return { machine, form, giver, inside, projectId, projectGrantId };
}

/** A machine that asks for a token for an API of its project, by a URI below a domain of the organization. */
async function atResource() {
  const { domainId } = done(await admin().post("/v1/domains", { name: `${unique()}.example`, withoutDns: true }));
  const { name } = done(await admin().get(`/v1/domains/${domainId}`)).domain;
  const machine = await grantedMachine(postern);
  const resource = `https://api.${name}/`;
  const { appId } = await newApi(postern, machine.projectId, { resourceUris: [resource] });
  const place = `/v1/projects/${machine.projectId}/applications/${appId}`;
  return { machine, form: { scope: "", resource }, place, domainId, name };
}

const ends: Readonly<Record<string, readonly [answer: string, () => Promise<Scene>]>> = {
  "its secret is removed": [
    "invalid_client",
    () => own(({ userId, secretId }) => admin().delete(`/v1/users/${userId}/credentials/${secretId}`)),
  ],
  "its secret is replaced": ["invalid_client", () => own(({ userId }) => of(`/v1/users/${userId}/secrets`))],
  "it is deactivated": ["invalid_client", () => own(({ userId }) => of(`/v1/users/${userId}:deactivate`))],
  "it is deleted": ["invalid_client", () => own(({ userId }) => admin().delete(`/v1/users/${userId}`))],
  "its grant is removed": [
    "invalid_scope",
    () => own(({ userGrantId }) => admin().delete(`/v1/user-grants/${userGrantId}`)),
  ],
  "its grant is deactivated": [
    "invalid_scope",
    () => own(({ userGrantId }) => of(`/v1/user-grants/${userGrantId}:deactivate`)),
  ],
  "the project is deactivated": [
    "invalid_scope",
    () => own(({ projectId }) => of(`/v1/projects/${projectId}:deactivate`)),
  ],
  "the project is deleted": [
    "invalid_scope",
    () => own(({ projectId }) => admin().delete(`/v1/projects/${projectId}`)),
  ],
  "the organization of the project is deactivated": [
    "invalid_scope",
    async () => {
      const { machine, form, giver } = await abroad({ isLent: false });
      return { machine, form, end: () => of(`/v1/organizations/${giver}:deactivate`) };
    },
  ],
  "the organization of the project takes it back": [
    "invalid_scope",
    async () => {
      const { machine, form, inside, projectId, projectGrantId } = await abroad({ isLent: true });
      const path = `/v1/projects/${projectId}/grants/${projectGrantId}`;
      return { machine, form, end: () => admin().delete(path, inside) };
    },
  ],
  "its own organization ends what another gave": [
    "invalid_scope",
    async () => {
      const { machine, form, giver } = await abroad({ isLent: false });
      const end = () => admin().post(`/v1/users/${machine.userId}/roles:end`, { organizationId: giver });
      return { machine, form, end };
    },
  ],
  "the API is deactivated": ["invalid_target", () => api(({ place }) => of(`${place}:deactivate`))],
  "the API is deleted": ["invalid_target", () => api(({ place }) => admin().delete(place))],
  "the API gives up its URI": [
    "invalid_target",
    () => api(({ place }) => admin().call("PATCH", `${place}/api`, { resourceUris: [] })),
  ],
  "the domain of the API is removed": [
    "invalid_target",
    () => api(({ domainId }) => admin().delete(`/v1/domains/${domainId}`)),
  ],
  "another organization proves a nearer domain": [
    "invalid_target",
    () =>
      api(async ({ name }) => {
        const inside = { "x-service-orgid": await organization(postern) };
        return admin().post("/v1/domains", { name: `api.${name}`, withoutDns: true }, inside);
      }),
  ],
};

async function own(end: (machine: GrantedMachine) => Promise<unknown>): Promise<Scene> {
  const machine = await grantedMachine(postern);
  return { machine, end: () => end(machine) };
}

async function api(end: (at: Awaited<ReturnType<typeof atResource>>) => Promise<unknown>): Promise<Scene> {
  const at = await atResource();
  return { ...at, end: () => end(at) };
}

test.each(Object.keys(ends))("a machine that both nodes remember gets no token once %s", async (name) => {
  const [answer, begin] = ends[name] ?? expect.unreachable();
  const { end, ...request } = await begin();
  for (const node of [nodes.one, nodes.two, nodes.one, nodes.two]) expect(await said(node, request)).toBe("given");
  expect(await end()).toMatchObject({ status: 200 });
  expect(await said(nodes.one, request)).toBe(answer);
  await expect.poll(() => said(nodes.two, request)).toBe(answer);
});

test("a new secret is good at once, where the machine is remembered with the old one", async () => {
  const machine = await grantedMachine(postern);
  for (const node of [nodes.one, nodes.two]) expect(await said(node, { machine })).toBe("given");
  const made = done(await postern.admin.post(`/v1/users/${machine.userId}/secrets`));
  const renewed = { ...machine, clientSecret: made.clientSecret };
  expect(await said(nodes.two, { machine: renewed })).toBe("given");
  expect(await said(nodes.two, { machine })).toBe("invalid_client");
});

test("a machine that is remembered gets no token with a wrong secret, or with that of another", async () => {
  const [machine, other] = [await grantedMachine(postern), await grantedMachine(postern)];
  for (const one of [machine, other]) expect(await said(nodes.one, { machine: one })).toBe("given");
  for (const clientSecret of ["wrong", other.clientSecret, machine.secretId])
    expect(await said(nodes.one, { machine: { ...machine, clientSecret } })).toBe("invalid_client");
  for (const one of [machine, other]) expect(await said(nodes.one, { machine: one })).toBe("given");
});

test("a machine that is reactivated, or granted a project again, is remembered as it is now", async () => {
  const machine = await grantedMachine(postern);
  const stages = [
    [`/v1/users/${machine.userId}:deactivate`, "invalid_client"],
    [`/v1/users/${machine.userId}:reactivate`, "given"],
    [`/v1/user-grants/${machine.userGrantId}:deactivate`, "invalid_scope"],
    [`/v1/user-grants/${machine.userGrantId}:reactivate`, "given"],
  ] as const;
  for (const node of [nodes.one, nodes.two]) expect(await said(node, { machine })).toBe("given");
  for (const [path, answer] of stages) {
    done(await of(path));
    for (const node of [nodes.one, nodes.two]) await expect.poll(() => said(node, { machine })).toBe(answer);
  }
});

test("a JWT has the roles that the machine has by now, on both nodes", async () => {
  const machine = await grantedMachine(postern, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const rolesAt = async ({ url }: Postern) =>
    decodeJwt(done(await bySecret(url, machine, { scope: `${machine.scope} roles` })).access_token).roles;
  for (const node of [nodes.one, nodes.two]) expect(await rolesAt(node)).toEqual(["viewer"]);
  done(await postern.admin.post(`/v1/projects/${machine.projectId}/roles`, { key: "editor" }));
  const roleKeys = ["editor", "viewer"];
  done(await postern.admin.call("PUT", `/v1/user-grants/${machine.userGrantId}`, { roleKeys }));
  expect(await rolesAt(nodes.one)).toEqual(roleKeys);
  await expect.poll(() => rolesAt(nodes.two)).toEqual(roleKeys);
  done(await postern.admin.delete(`/v1/projects/${machine.projectId}/roles/viewer`));
  expect(await rolesAt(nodes.one)).toEqual(["editor"]);
  await expect.poll(() => rolesAt(nodes.two)).toEqual(["editor"]);
});

test("a remembered grant and a remembered secret end at their time", async () => {
  const [machine, brief, { projectId }] = [
    await grantedMachine(postern),
    await grantedMachine(postern),
    await grantedMachine(postern),
  ];
  const form = { scope: `urn:postern:project:id:${projectId}` };
  const expirationDate = new Date(Date.now() + 5_000).toISOString();
  const grant = { projectId, roleKeys: ["viewer"], expirationDate };
  done(await postern.admin.post(`/v1/users/${brief.userId}/grants`, grant));
  expect(await said(nodes.one, { machine: brief, form })).toBe("given");
  const { clientSecret } = done(await postern.admin.post(`/v1/users/${machine.userId}/secrets`, { overlap: "5s" }));
  expect(await said(nodes.one, { machine })).toBe("given");
  await expect.poll(() => said(nodes.one, { machine: brief, form })).toBe("invalid_scope");
  await expect.poll(() => said(nodes.one, { machine })).toBe("invalid_client");
  expect(await said(nodes.one, { machine: { ...machine, clientSecret } })).toBe("given");
});

test("what another organization gives for a while does not end a token that it has no part in", async () => {
  const machine = await grantedMachine(postern);
  const inside = { "x-service-orgid": await organization(postern) };
  const lent = { grantedOrganizationId: inside["x-service-orgid"], roleKeys: ["viewer"] };
  const { projectGrantId } = done(await admin().post(`/v1/projects/${machine.projectId}/grants`, lent));
  const expirationDate = new Date(Date.now() + 60_000).toISOString();
  const grant = { projectId: machine.projectId, projectGrantId, roleKeys: ["viewer"], expirationDate };
  done(await admin().post(`/v1/users/${machine.userId}/grants`, grant, inside));
  expect(done(await bySecret(nodes.one.url, machine)).expires_in).toBe(600);
  const scope = `${machine.scope} urn:postern:organization:id:${inside["x-service-orgid"]}`;
  expect(done(await bySecret(nodes.one.url, machine, { scope })).expires_in).toBeLessThanOrEqual(60);
});

test("a grant that is remembered of a machine's own organization is none of an organization with a strange name", async () => {
  const machine = await grantedMachine(postern);
  expect(await said(nodes.one, { machine })).toBe("given");
  for (const name of ["", "null", "undefined"]) {
    const form = { scope: `${machine.scope} urn:postern:organization:id:${name}` };
    expect([name, await said(nodes.one, { machine, form })]).toEqual([name, "invalid_scope"]);
  }
});

test("a node that has heard of nothing stores no token of a machine that is deactivated, or whose secret is removed", async () => {
  await using database = openClient(nodes.databaseUrl);
  const sql = database.client;
  const write = writingMachineTokens(sql);
  const ofGone: readonly ((machine: GrantedMachine) => Promise<unknown>)[] = [
    ({ userId }) => of(`/v1/users/${userId}:deactivate`),
    ({ userId, secretId }) => postern.admin.delete(`/v1/users/${userId}/credentials/${secretId}`),
  ];
  for (const end of ofGone) {
    const granted = await grantedMachine(postern);
    const of = await tokenOf(sql, granted);
    const isWritten = (lastUsed: number | null) => {
      const credential = { ...of.credential, lastUsed };
      return write({ ...of, credential, now: new Date() }, untrimmed(), systemCall(newId()));
    };
    // With and without a note of its use.
    const both = () => Promise.all([isWritten(null), isWritten(Date.now())]);
    expect(await both()).toEqual([true, true]);
    expect(await end(granted)).toMatchObject({ status: 200 });
    expect(await both()).toEqual([false, false]);
  }
});

test("a node that remembers a machine records a use of its credential once an hour, and until that succeeds", async () => {
  const granted = await grantedMachine(postern);
  const sent: string[] = [];
  await using database = openClient(nodes.databaseUrl, (text) => sent.push(text));
  const write = writingMachineTokens(database.client);
  const of = await tokenOf(database.client, granted);
  const now = Date.now();
  const isNoted = async (later: number): Promise<boolean> => {
    expect(await write({ ...of, now: new Date(now + later) }, untrimmed(), systemCall(newId()))).toBe(true);
    return sent.at(-1)?.includes("last_used") ?? false;
  };
  await using other = openClient(nodes.databaseUrl);
  await other.client.begin(async (locking) => {
    await locking`select from machine_proofs where credential_id = ${granted.secretId} for update`;
    expect(await isNoted(0)).toBe(true);
  });
  const answers: boolean[] = [];
  for (const later of [1, 2, 3_600_000, 3_600_001, 7_200_000]) answers.push(await isNoted(later));
  expect(answers).toEqual([true, false, false, true, false]);
});

/** What a machine's token for its project is of: the machine as it is now, and its secret. */
async function tokenOf(sql: Sql, { clientId, secretId, projectId }: GrantedMachine) {
  const machine = (await machineClientRead(sql)(clientId, new Date())) ?? expect.unreachable();
  const credential = machine.credentials.find(({ id }) => id === secretId) ?? expect.unreachable();
  const { organizationId } = postern;
  const target = { forApi: false, projectId, resource: null, organizationId, scope: "", roles: [], grantsEnd: null };
  return { machine, credential, target, jkt: undefined };
}

/** A token that ends no others. */
function untrimmed(): MachineToken {
  const value = newToken("oa");
  return hashToken(value).toString("hex") < "04" ? untrimmed() : { text: value, value, seconds: 60 };
}
