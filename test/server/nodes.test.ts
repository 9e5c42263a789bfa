import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { client, eventually } from "../first_start.ts";
import { type Answer, machine, type Postern, signedUp } from "../harness.ts";
import { idsOf, type Provider, startProvider } from "../notify/provider.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";

const [old, fresh] = [randomBytes(32), randomBytes(32)];
// Longer than any test: what ends earlier ended by news from the other node.
const settings = { cacheSeconds: 3600, phoneSendsPerUser: 3, phoneSendsPerNumber: 100 };

let opened: AsyncDisposableStack;
let nodes: TwoNodes;
let provider: Provider;
let databaseUrl: string;

beforeAll(async () => {
  opened = new AsyncDisposableStack();
  provider = opened.use(await startProvider());
  const webhook = { smsSender: "webhook", smsWebhookUrl: provider.url, smsWebhookSecret: Buffer.alloc(32) } as const;
  const ofTheFirst = { ...settings, ...webhook, masterKeys: [old, fresh] };
  nodes = opened.use(await startTwoNodes(ofTheFirst, { masterKeys: [fresh, old] }));
  ({ databaseUrl } = nodes);
});
afterAll(() => opened?.disposeAsync());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** A transaction that has written and stays open, in the database of the nodes. */
async function openTransaction(): Promise<AsyncDisposable> {
  const sql = client(databaseUrl);
  await sql`begin`;
  await sql`select pg_current_xact_id()`;
  return {
    async [Symbol.asyncDispose]() {
      await sql`rollback`;
      await sql.end();
    },
  };
}

/** A caller of the second node, a call of it that is granted, and a way to end that by the first node. */
type Revoked = { readonly token: string | undefined; readonly path: string; readonly revoke: () => Promise<Answer> };

const me = "/v1/users/me";
const roleOf = async (postern: Postern, membership: object, place: Record<string, string> = {}) => {
  const { userId, client: holder } = await machine(postern);
  done(await postern.admin.post("/v1/members", { userId, ...membership }, place));
  return { userId, token: holder.token };
};

const revocations: Readonly<Record<string, (node: Postern) => Promise<Revoked>>> = {
  async "an access token that is revoked"(node) {
    const { userId, tokenId, client: holder } = await machine(node);
    return { token: holder.token, path: me, revoke: () => node.admin.delete(`/v1/users/${userId}/tokens/${tokenId}`) };
  },
  async "a session that is ended"(node) {
    const { client: holder } = await signedUp(node);
    const { sessions } = done(await holder.get("/v1/sessions"));
    return { token: holder.token, path: me, revoke: () => holder.delete(`/v1/sessions/${sessions[0].id}`) };
  },
  async "a user who is deactivated"(node) {
    const { userId, client: holder } = await signedUp(node);
    return { token: holder.token, path: me, revoke: () => node.admin.post(`/v1/users/${userId}:deactivate`) };
  },
  async "a user who is deleted"(node) {
    const { userId, client: holder } = await machine(node);
    return { token: holder.token, path: me, revoke: () => node.admin.delete(`/v1/users/${userId}`) };
  },
  async "a password that is set anew"(node) {
    const { userId, client: holder } = await signedUp(node);
    const revoke = () => node.admin.put(`/v1/users/${userId}/password`, { newPassword: "Brown-Saucer-88" });
    return { token: holder.token, path: me, revoke };
  },
  async "a membership that is removed"(node) {
    const { userId, token } = await roleOf(node, { roles: ["ORG_VIEWER"] });
    return { token, path: "/v1/users", revoke: () => node.admin.delete(`/v1/members/${userId}`) };
  },
  async "a project that is deleted with its memberships"(node) {
    const { projectId } = done(
      await node.admin.post("/v1/projects", { name: `Project ${randomBytes(4).toString("hex")}` }),
    );
    const { token } = await roleOf(node, { roles: ["PROJECT_OWNER"], projectId });
    return { token, path: `/v1/projects/${projectId}`, revoke: () => node.admin.delete(`/v1/projects/${projectId}`) };
  },
};

describe("what one node revokes the other one refuses, also while a stranger's transaction is open:", () => {
  test.each(Object.entries(revocations))("%s", async (_, prepare) => {
    const { token, path, revoke } = await prepare(nodes.one);
    const caller = nodes.two.as(token);
    await using _open = await openTransaction();
    done(await caller.get(path));
    done(await revoke());
    const refused = await eventually(async () => {
      const { status } = await caller.get(path);
      return status === 200 ? undefined : status;
    }, "the refusal");
    expect([401, 403, 404]).toContain(refused);
  });

  test("a transaction that was open before the caller was cached, and revokes it later", async () => {
    const { userId, tokenId, client: holder } = await machine(nodes.one);
    const caller = nodes.two.as(holder.token);
    done(await caller.get(me));
    const sql = client(databaseUrl);
    await sql`begin`;
    await sql`
      insert into events (owner, stream, version, type, payload, request_id, time, epoch)
      select owner, token_id, version + 1, 'access_token.revoked', '{}', 'request', now(), (select epoch from instance)
      from access_tokens where token_id = ${tokenId}`;
    await sql`delete from bearers where token_id = ${tokenId}`;
    await sql`delete from access_tokens where token_id = ${tokenId}`;
    // Commits after it that are seen earlier.
    for (let later = 0; later < 3; later++) done(await nodes.one.admin.post(`/v1/users/${userId}/tokens`));
    done(await caller.get(me));
    await sql`commit`;
    await sql.end();
    await eventually(async () => (await caller.get(me)).status === 401 || undefined, "the refusal");
  });
});

const wrong = { password: "a wrong one" };
const signIn = (node: Postern, loginName: string, password: string) =>
  node.as().post("/v1/sessions", { loginName, password });
const through = (nth: number) => nodes.through(nth);
const phoneOf = (nth: number) => `+4179${String(4_000_000 + nth)}`;
const newKey = () => ({ "idempotency-key": randomBytes(8).toString("hex") });

const promises: Readonly<Record<string, () => Promise<void>>> = {
  async "wrong passwords are counted over both nodes, and both are locked"() {
    const { userId, username, password } = await signedUp(nodes.one);
    const { policy } = done(await nodes.one.admin.get("/v1/policies/lockout"));
    for (let nth = 0; nth < policy.maximumAttempts; nth++) await signIn(through(nth), username, wrong.password);
    for (const node of [nodes.one, nodes.two]) expect((await signIn(node, username, password)).status).toBe(429);
    done(await nodes.two.admin.post(`/v1/users/${userId}:unlock`));
    for (const node of [nodes.one, nodes.two]) done(await signIn(node, username, password));
  },
  async "codes that a user is sent are limited over both nodes"() {
    const { userId } = await signedUp(nodes.one);
    const asked = Array.from({ length: 12 }, (_, nth) =>
      through(nth).admin.post(`/v1/users/${userId}/phone`, { phone: phoneOf(nth) }),
    );
    const sent = (await Promise.all(asked)).filter(({ status }) => status === 200);
    expect(sent.length).toBeLessThanOrEqual(settings.phoneSendsPerUser);
    expect((await nodes.two.admin.post(`/v1/users/${userId}/phone`, { phone: phoneOf(99) })).status).not.toBe(500);
  },
  async "a write that is repeated with its key at both nodes at once has one effect and one answer"() {
    const { userId } = await machine(nodes.one);
    const key = newKey();
    const asked = Array.from({ length: 30 }, (_, nth) =>
      through(nth).admin.post(`/v1/users/${userId}/tokens`, {}, key),
    );
    const answers = (await Promise.all(asked)).map(done);
    expect(new Set(answers.map(({ token }) => token)).size).toBe(1);
    const { tokens } = done(await nodes.two.admin.get(`/v1/users/${userId}/tokens`));
    expect(tokens).toHaveLength(2);
  },
  async "the answer of a node with the new key is opened by one that still seals with the old key, and the other way round"() {
    const { userId } = await machine(nodes.one);
    for (const [first, second] of [
      [nodes.one, nodes.two],
      [nodes.two, nodes.one],
    ] as const) {
      const key = newKey();
      const { token } = done(await first.admin.post(`/v1/users/${userId}/tokens`, {}, key));
      expect(done(await second.admin.post(`/v1/users/${userId}/tokens`, {}, key)).token).toBe(token);
    }
  },
  async "a code of one node is verified by the other one"() {
    for (const [nth, [first, second]] of [[nodes.one, nodes.two] as const, [nodes.two, nodes.one] as const].entries()) {
      const { userId } = await signedUp(nodes.one);
      const phone = { phone: phoneOf(200 + nth), returnCode: {} };
      const { verificationCode } = done(await first.admin.post(`/v1/users/${userId}/phone`, phone));
      done(await second.admin.post(`/v1/users/${userId}/phone:verify`, { verificationCode }));
    }
  },
  async "each SMS is delivered once"() {
    const before = provider.received.length;
    const users = await Promise.all(Array.from({ length: 20 }, () => signedUp(nodes.one)));
    await Promise.all(
      users.map(async ({ userId }, nth) =>
        done(await through(nth).admin.post(`/v1/users/${userId}/phone`, { phone: phoneOf(300 + nth) })),
      ),
    );
    const sql = client(databaseUrl);
    await eventually(async () => (await sql`select from sms_messages`).length === 0 || undefined, "the delivery");
    await sql.end();
    const ids = idsOf(provider.received.slice(before));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(users.length);
  },
  async "names are taken for both nodes"() {
    const name = `Organization ${randomBytes(4).toString("hex")}`;
    const asked = Array.from({ length: 10 }, (_, nth) => through(nth).admin.post("/v1/organizations", { name }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
  },
};

describe("of two nodes with the keys of a rotation in either order", () => {
  test.each(Object.entries(promises))("%s", (_, keep) => keep());
});
