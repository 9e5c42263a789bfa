import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Answer,
  type Client,
  clientOf,
  machine,
  organization,
  type Postern,
  signedUp,
  startPostern,
} from "../harness.ts";
import { answerIn, authorizeUrl } from "../provider/application.ts";
import { held } from "../provider/holding.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";

let nodes: TwoNodes;
let postern: Postern;
let other: Postern;
beforeAll(async () => {
  nodes = await startTwoNodes();
  [postern, other] = [nodes.one, nodes.two];
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const unique = () => crypto.randomUUID().slice(0, 12);

/** An organization with a user, a project, an application and a grant, each of which can be deactivated. */
async function world() {
  const { admin } = postern;
  const organizationId = await organization(postern);
  const here = inside(organizationId);
  const { userId, username, password, client } = await signedUp(postern, { organizationId });
  const { projectId } = done(await admin.post("/v1/projects", { name: unique() }, here));
  done(await admin.post(`/v1/projects/${projectId}/roles`, { key: "viewer" }, here));
  const { appId, clientId } = done(
    await admin.post(`/v1/projects/${projectId}/applications/oidc`, { name: unique() }, here),
  );
  const wanted = { projectId, roleKeys: ["viewer"] };
  const { userGrantId } = done(await admin.post(`/v1/users/${userId}/grants`, wanted, here));
  const paths = {
    organization: `/v1/organizations/${organizationId}`,
    project: `/v1/projects/${projectId}`,
    application: `/v1/projects/${projectId}/applications/${appId}`,
    "user grant": `/v1/user-grants/${userGrantId}`,
    user: `/v1/users/${userId}`,
  };
  return { organizationId, here, userId, username, password, client, projectId, appId, clientId, userGrantId, paths };
}

type World = Awaited<ReturnType<typeof world>>;
type Kind = keyof World["paths"];

const set = async (kind: Kind, verb: "deactivate" | "reactivate", { paths, here }: World) =>
  done(await postern.admin.post(`${paths[kind]}:${verb}`, {}, here));

/** The error page of a sign-in at the application, which has no redirect URI. */
async function problemAt({ clientId }: World) {
  const page = await (await fetch(`${postern.url}/oauth/authorize?client_id=${clientId}`)).text();
  return /<code>([^<]*)/.exec(page)?.[1];
}

const signIn = ({ username: loginName, password }: World) => postern.as().post("/v1/sessions", { loginName, password });
const grant = (projectId: string, userId: string, headers = {}, by: Client = postern.admin) =>
  by.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["viewer"] }, headers);
const grantOf = async ({ paths, here }: World) => done(await postern.admin.get(paths["user grant"], here)).userGrant;
const rolesOf = async (client: Client) => done(await client.get("/v1/users/me")).projectRoles;
const listed = async (path: string, key: string, { here }: World) =>
  done(await postern.admin.get(`${path}?pageSize=1000`, here))[key] as { id: string; state: string }[];

/** A user of another organization with a grant in the world's. */
async function guest({ projectId, here }: World) {
  const { userId, client } = await signedUp(postern);
  const { userGrantId } = done(await grant(projectId, userId, here));
  expect(await rolesOf(client)).toMatchObject([{ projectId, roleKey: "viewer" }]);
  return { userId, client, userGrantId };
}

/** The project of the world, granted to another organization, and a user with a grant there. */
async function lent({ projectId, here }: World) {
  const grantedOrganizationId = await organization(postern);
  const there = inside(grantedOrganizationId);
  const body = { grantedOrganizationId, roleKeys: ["viewer"] };
  const { projectGrantId } = done(await postern.admin.post(`/v1/projects/${projectId}/grants`, body, here));
  const { userId, client } = await signedUp(postern, { organizationId: grantedOrganizationId });
  const wanted = { projectId, projectGrantId, roleKeys: ["viewer"] };
  const { userGrantId } = done(await postern.admin.post(`/v1/users/${userId}/grants`, wanted, there));
  return { there, userId, client, wanted, path: `/v1/user-grants/${userGrantId}` };
}

/** Says of a world what holds while one of its objects is deactivated; what it returns is checked after the reactivation. */
type Check = (world: World, shut: () => Promise<unknown>) => Promise<(() => Promise<unknown>) | undefined>;

const table: Readonly<Record<Kind, Readonly<Record<string, Check>>>> = {
  organization: {
    async "signing in"(it, shut) {
      await shut();
      expect(refused(await signIn(it))).toEqual([401, "SIGN_IN_FAILED"]);
      return async () => done(await signIn(it));
    },
    async tokens(it, shut) {
      const robot = await machine(postern, it);
      const elsewhere = [it.client, robot.client].map(({ token }) => clientOf(other.url, token));
      for (const client of elsewhere) done(await client.get("/v1/users/me"));
      await shut();
      for (const client of [it.client, robot.client])
        expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
      for (const client of elsewhere)
        await expect.poll(async () => refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
      return async () => {
        for (const client of [it.client, robot.client]) done(await client.get("/v1/users/me"));
      };
    },
    async "roles of members"(it, shut) {
      const { userId, client } = await machine(postern);
      for (const [path, role] of [
        ["/v1/members", "ORG_OWNER"],
        [`/v1/projects/${it.projectId}/members`, "PROJECT_OWNER"],
      ] as const)
        done(await postern.admin.post(path, { userId, roles: [role] }, it.here));
      done(await client.get(it.paths.project, it.here));
      await shut();
      expect(refused(await client.get(it.paths.project, it.here))).toEqual([403, "PERMISSION_DENIED"]);
      expect(refused(await client.get("/v1/users", it.here))).toEqual([403, "PERMISSION_DENIED"]);
      done(await postern.admin.get("/v1/users", it.here));
      return async () => done(await client.get(it.paths.project, it.here));
    },
    async "adding grants"(it, shut) {
      const { there, wanted } = await lent(it);
      const { userId } = await machine(postern);
      await shut();
      const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique() }));
      const attempts = [
        await grant(it.projectId, userId, it.here),
        await postern.admin.post(`/v1/users/${userId}/grants`, wanted, there),
        await postern.admin.post(`/v1/projects/${projectId}/grants`, { grantedOrganizationId: it.organizationId }),
        await postern.admin.post(
          `${it.paths.project}/grants`,
          { grantedOrganizationId: postern.organizationId },
          it.here,
        ),
      ];
      for (const attempt of attempts) expect(refused(attempt)).toEqual([400, "ORGANIZATION_INACTIVE"]);
      const batch = done(
        await postern.admin.post("/v1/user-grants:batchAdd", { items: [{ userId, ...wanted }] }, there),
      );
      expect(batch.outcomes[0].refused.details[0].reason).toBe("ORGANIZATION_INACTIVE");
      return async () => done(await grant(it.projectId, userId, it.here));
    },
    async lists(it, shut) {
      await shut();
      expect(done(await postern.admin.get(it.paths.organization)).organization.state).toBe(
        "ORGANIZATION_STATE_INACTIVE",
      );
      const all = await listed("/v1/organizations", "organizations", it);
      expect(all.find(({ id }) => id === it.organizationId)?.state).toBe("ORGANIZATION_STATE_INACTIVE");
      expect((await listed("/v1/users", "users", it)).map(({ id }) => id)).toEqual([it.userId]);
      expect((await listed("/v1/projects", "projects", it)).map(({ id }) => id)).toEqual([it.projectId]);
      expect((await listed("/v1/user-grants", "userGrants", it)).map(({ id }) => id)).toEqual([it.userGrantId]);
      return async () =>
        expect(done(await postern.admin.get(it.paths.organization)).organization.state).toBe(
          "ORGANIZATION_STATE_ACTIVE",
        );
    },
    async checks(it, shut) {
      const [roleHolder, tenant] = [await guest(it), await lent(it)];
      await shut();
      expect(await grantOf(it)).toMatchObject({ state: "USER_GRANT_STATE_ACTIVE", inEffect: false });
      expect(done(await postern.admin.get(tenant.path, tenant.there)).userGrant.inEffect).toBe(false);
      for (const { client } of [roleHolder, tenant]) expect(await rolesOf(client)).toEqual([]);
      return async () => {
        expect((await grantOf(it)).inEffect).toBe(true);
        for (const { client } of [roleHolder, tenant]) expect(await rolesOf(client)).toHaveLength(1);
      };
    },
    async "the last owner"(it, shut) {
      const first = `/v1/organizations/${postern.organizationId}`;
      expect(refused(await postern.admin.post(`${first}:deactivate`))).toEqual([400, "LAST_OWNER"]);
      const { userId, client } = await signedUp(postern, it);
      done(await postern.admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true }));
      await shut();
      expect(refused(await postern.admin.post(`${first}:deactivate`))).toEqual([400, "LAST_OWNER"]);
      expect(refused(await postern.admin.post(`/v1/users/${postern.adminId}:deactivate`))).toEqual([400, "LAST_OWNER"]);
      return async () => {
        done(await client.post(`${first}:deactivate`));
        done(await client.post(`${first}:reactivate`));
      };
    },
  },
  project: {
    async "signing in"(it, shut) {
      expect(await problemAt(it)).toBe("redirect_uri_unknown");
      await shut();
      done(await signIn(it));
      expect(await problemAt(it)).toBe("client_unknown");
      return async () => expect(await problemAt(it)).toBe("redirect_uri_unknown");
    },
    async tokens(it, shut) {
      await shut();
      done(await it.client.get("/v1/users/me"));
      return undefined;
    },
    async "roles of members"(it, shut) {
      const { userId, client } = await machine(postern, it);
      done(await postern.admin.post(`${it.paths.project}/members`, { userId, roles: ["PROJECT_OWNER"] }, it.here));
      await shut();
      done(await client.post(`${it.paths.project}:reactivate`));
      return undefined;
    },
    async "adding grants"(it, shut) {
      const { there, wanted } = await lent(it);
      const { userId } = await machine(postern);
      await shut();
      const attempts = [
        await grant(it.projectId, userId, it.here),
        await postern.admin.post(`/v1/users/${userId}/grants`, wanted, there),
        await postern.admin.post(
          `${it.paths.project}/grants`,
          { grantedOrganizationId: postern.organizationId },
          it.here,
        ),
      ];
      for (const attempt of attempts) expect(refused(attempt)).toEqual([400, "PROJECT_INACTIVE"]);
      done(await postern.admin.put(it.paths["user grant"], { roleKeys: [] }, it.here));
      done(await postern.admin.delete(it.paths["user grant"], it.here));
      return async () => done(await grant(it.projectId, userId, it.here));
    },
    async lists(it, shut) {
      await shut();
      expect(await listed("/v1/projects", "projects", it)).toMatchObject([
        { id: it.projectId, state: "PROJECT_STATE_INACTIVE" },
      ]);
      expect(done(await postern.admin.get(it.paths.project, it.here)).project.state).toBe("PROJECT_STATE_INACTIVE");
      expect(await listed(`${it.paths.project}/user-grants`, "userGrants", it)).toMatchObject([
        { id: it.userGrantId, projectState: "PROJECT_STATE_INACTIVE" },
      ]);
      return async () => expect(await grantOf(it)).toMatchObject({ projectState: "PROJECT_STATE_ACTIVE" });
    },
    async checks(it, shut) {
      const [roleHolder, tenant] = [await guest(it), await lent(it)];
      await shut();
      expect((await grantOf(it)).inEffect).toBe(false);
      for (const { client } of [it, roleHolder, tenant]) expect(await rolesOf(client)).toEqual([]);
      return async () => {
        expect((await grantOf(it)).inEffect).toBe(true);
        for (const { client } of [it, roleHolder, tenant]) expect(await rolesOf(client)).toHaveLength(1);
      };
    },
  },
  application: {
    async "signing in"(it, shut) {
      expect(await problemAt(it)).toBe("redirect_uri_unknown");
      await shut();
      expect(await problemAt(it)).toBe("client_unknown");
      return async () => expect(await problemAt(it)).toBe("redirect_uri_unknown");
    },
    async lists(it, shut) {
      await shut();
      const state = "APPLICATION_STATE_INACTIVE";
      expect(await listed(`${it.paths.project}/applications`, "applications", it)).toMatchObject([{ state }]);
      expect(done(await postern.admin.get(it.paths.application, it.here)).application).toMatchObject({ state });
      done(await postern.admin.post(`${it.paths.application}:rotateClientSecret`, {}, it.here));
      return async () =>
        expect(done(await postern.admin.get(it.paths.application, it.here)).application.state).toBe(
          "APPLICATION_STATE_ACTIVE",
        );
    },
    async "adding grants"(it, shut) {
      await shut();
      done(await grant(it.projectId, (await machine(postern)).userId, it.here));
      return undefined;
    },
  },
  "user grant": {
    async "signing in"() {
      const { app, admin, browser, grantId, scope } = await held(postern, "holder");
      const silently = async () =>
        answerIn(await browser.open(authorizeUrl(postern.url, app, { prompt: "none", scope }))).error;
      done(await admin.post(`/v1/user-grants/${grantId}:deactivate`));
      expect(await silently()).toBe("access_denied");
      done(await admin.post(`/v1/user-grants/${grantId}:reactivate`));
      expect(await silently()).toBe(undefined);
      return undefined;
    },
    async "adding grants"(it, shut) {
      await shut();
      expect(refused(await grant(it.projectId, it.userId, it.here))).toEqual([409, "USER_GRANT_EXISTS"]);
      return undefined;
    },
    async lists(it, shut) {
      await shut();
      expect(await listed("/v1/user-grants", "userGrants", it)).toMatchObject([
        { id: it.userGrantId, state: "USER_GRANT_STATE_INACTIVE", projectState: "PROJECT_STATE_ACTIVE" },
      ]);
      return async () => expect((await grantOf(it)).state).toBe("USER_GRANT_STATE_ACTIVE");
    },
    async checks(it, shut) {
      await shut();
      expect((await grantOf(it)).inEffect).toBe(false);
      expect(await rolesOf(it.client)).toEqual([]);
      return async () => {
        expect((await grantOf(it)).inEffect).toBe(true);
        expect(await rolesOf(it.client)).toHaveLength(1);
      };
    },
  },
  user: {
    async "signing in"(it, shut) {
      await shut();
      expect(refused(await signIn(it))).toEqual([401, "SIGN_IN_FAILED"]);
      return async () => done(await signIn(it));
    },
    async tokens(it, shut) {
      const { token } = done(await postern.admin.post(`${it.paths.user}/tokens`, {}));
      await shut();
      const byToken = postern.as(token);
      for (const client of [it.client, byToken])
        expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
      return async () => {
        done(await byToken.get("/v1/users/me"));
        expect(refused(await it.client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
      };
    },
    async "adding grants"(it, shut) {
      await shut();
      const { projectId } = done(await postern.admin.post("/v1/projects", { name: unique() }, it.here));
      done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "viewer" }, it.here));
      done(await grant(projectId, it.userId, it.here));
      done(await postern.admin.post("/v1/members", { userId: it.userId, roles: ["ORG_VIEWER"] }, it.here));
      const newPassword = `Green-Teapot-${unique()}`;
      done(await postern.admin.put(`${it.paths.user}/password`, { newPassword }));
      const { token } = done(await postern.admin.post(`${it.paths.user}/tokens`, {}));
      return async () => {
        done(await signIn({ ...it, password: newPassword }));
        expect(await rolesOf(postern.as(token))).toHaveLength(2);
        done(await postern.as(token).get("/v1/users"));
      };
    },
    async lists(it, shut) {
      await shut();
      expect(done(await postern.admin.get(it.paths.user)).user.state).toBe("USER_STATE_INACTIVE");
      const inactive = await postern.admin.get("/v1/users?filter.state=USER_STATE_INACTIVE", it.here);
      expect(done(inactive).users).toMatchObject([{ id: it.userId }]);
      expect(await listed(`/v1/users/${it.userId}/grants`, "userGrants", it)).toHaveLength(1);
      return async () => expect(done(await postern.admin.get(it.paths.user)).user.state).toBe("USER_STATE_ACTIVE");
    },
  },
};

const rows = Object.entries(table).flatMap(([kind, checks]) =>
  Object.entries(checks).map(([concern, check]) => [kind as Kind, concern, check] as const),
);

describe("docs/states.md", () => {
  test("has exactly the rows that are checked here", async () => {
    const page = await readFile(new URL("../../docs/states.md", import.meta.url), "utf8");
    const listedRows = [...page.matchAll(/^\| ([a-z ]+) \| ([a-z ]+) \| .+ \|$/gm)].map(([, kind, what]) => [
      kind,
      what,
    ]);
    expect(listedRows.slice(1)).toEqual(rows.map(([kind, concern]) => [kind, concern]));
  });

  test.each(rows)("a deactivated %s: %s", async (kind, _concern, check) => {
    const it = await world();
    const back = await check(it, () => set(kind, "deactivate", it));
    await set(kind, "reactivate", it);
    await back?.();
  });
});

test.each(Object.keys(table) as Kind[])(
  "a %s that is deactivated or reactivated twice says the same twice",
  async (kind) => {
    const it = await world();
    expect(await set(kind, "reactivate", it)).toMatchObject({ details: { resourceOwner: it.organizationId } });
    const first = await set(kind, "deactivate", it);
    expect(await set(kind, "deactivate", it)).toEqual(first);
    const second = await set(kind, "reactivate", it);
    expect(Number(second.details.sequence)).toBe(Number(first.details.sequence) + 1);
    expect(await set(kind, "reactivate", it)).toEqual(second);
    const { events } = done(
      await postern.admin.get(`/v1/events?objectId=${it.paths[kind].split("/").at(-1)}`, it.here),
    );
    const noun = kind.replace(" ", "_");
    expect(events.map(({ type }: { type: string }) => type).slice(0, 2)).toEqual([
      `${noun}.reactivated`,
      `${noun}.deactivated`,
    ]);
  },
);

test("only the organization that owns a project deactivates it, also where it is granted", async () => {
  const it = await world();
  const { there } = await lent(it);
  for (const verb of ["deactivate", "reactivate"])
    expect(refused(await postern.admin.post(`${it.paths.project}:${verb}`, {}, there))).toEqual([
      404,
      "PROJECT_NOT_FOUND",
    ]);
});

test("of two organizations with an owner of the instance each, deactivated at once, one stays", async () => {
  await using alone = await startPostern();
  const second = await organization(alone);
  const { userId, client } = await signedUp(alone, { organizationId: second });
  done(await alone.admin.post("/v1/members", { userId, roles: ["INSTANCE_OWNER"], instance: true }));
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all([
      alone.admin.post(`/v1/organizations/${second}:deactivate`),
      client.post(`/v1/organizations/${alone.organizationId}:deactivate`),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(
      statuses.filter((status) => status === 200),
      JSON.stringify(answers),
    ).toHaveLength(1);
    const [survivor, gone] = statuses[0] === 200 ? [alone.admin, second] : [client, alone.organizationId];
    done(await survivor.post(`/v1/organizations/${gone}:reactivate`));
  }
});

test("nobody gets above the user of a deactivated organization meanwhile", async () => {
  const it = await world();
  const owner = await machine(postern, it);
  done(await postern.admin.post("/v1/members", { userId: it.userId, roles: ["ORG_OWNER"] }, it.here));
  const elsewhere = await organization(postern);
  done(await postern.admin.post("/v1/members", { userId: it.userId, roles: ["ORG_OWNER"] }, inside(elsewhere)));
  done(await postern.admin.post("/v1/members", { userId: owner.userId, roles: ["ORG_USER_MANAGER"] }, it.here));
  done(await postern.admin.post(`/v1/organizations/${elsewhere}:deactivate`));
  const password = { newPassword: "Green-Teapot-77" };
  const tried = await owner.client.put(`/v1/users/${it.userId}/password`, password);
  expect(refused(tried)).toEqual([403, "PERMISSION_DENIED"]);
});
