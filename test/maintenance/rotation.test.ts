import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { startServer } from "../../src/server/server.ts";
import { freshDatabase } from "../database.ts";
import { withTotp } from "../fixture/factors.ts";
import { type Answer, type Client, clientOf, signedUp, startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";

const [old, fresh] = [randomBytes(32), randomBytes(32)];
const app = { name: "Portal" };
const key = { "idempotency-key": "the-application" };
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** A node with other keys on the same database. */
async function node(config: Config, masterKeys: readonly Buffer[], more: Partial<Config> = {}) {
  const server = await startServer({ ...config, masterKeys, ...more });
  const as = (token?: string) => clientOf(server.url, token);
  return { admin: as(config.adminToken), as, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const changed = async ({ post }: Client, userId: string, body: object) =>
  done(await post(`/v1/users/${userId}/phone`, { phone: "+41791234567", ...body }));
const verify = async ({ post }: Client, userId: string, verificationCode: string) =>
  (await post(`/v1/users/${userId}/phone:verify`, { verificationCode })).status;

/** Writes what the old key seals and signs, on a node that has ended when this returns. */
async function writeWithOldKey(databaseUrl: string, dataDir: string) {
  await using postern = await startPostern({ databaseUrl, masterKeys: [old], dataDir });
  const { admin, config } = postern;
  const [answered, sent, person] = [await signedUp(postern), await signedUp(postern), await signedUp(postern)];
  const { verificationCode } = await changed(admin, answered.userId, { returnCode: {} });
  await changed(admin, sent.userId, {});
  const { projectId } = done(await admin.post("/v1/projects", { name: "Portal" }));
  const applications = `/v1/projects/${projectId}/applications`;
  const { clientSecret, appId } = done(await admin.post(`${applications}/oidc`, app, key));
  return { config, answered, sent, person, verificationCode, applications, clientSecret, appId };
}

test("after a rotation, what the old key sealed and signed is still good, and the old key may go", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-rotation-"));
  await using cleared = new AsyncDisposableStack();
  cleared.defer(() => rm(folder, { recursive: true }));
  // A file cannot be written where a folder stands, so no SMS leaves yet.
  const blocked = join(folder, "blocked");
  await mkdir(join(blocked, "sms.log"), { recursive: true });
  await using database = await freshDatabase();
  // Each node ends before the next one starts: two nodes that look for SMS at the same rate may alternate for ever.
  const written = await writeWithOldKey(database.url, blocked);
  const { config, answered, sent, person, applications } = written;
  const checkValue = () =>
    ask<{ check: string }>(database.url, "select encode(key_check, 'hex') as check from instance");
  const before = await checkValue();

  {
    await using both = await node(config, [old, fresh]);
    expect(await checkValue()).toEqual(before);
    done(await both.admin.get("/v1/users/me"));
  }
  const open = join(folder, "open");
  await mkdir(open);
  {
    await using rotated = await node(config, [fresh, old], { dataDir: open });
    expect(await checkValue()).not.toEqual(before);
    expect(done(await rotated.admin.post(`${applications}/oidc`, app, key)).clientSecret).toBe(written.clientSecret);
    expect(await verify(rotated.admin, answered.userId, written.verificationCode)).toBe(200);
    await ask(database.url, "update sms_messages set due = now(), attempts = 0, dead = null");
    const code = await vi.waitFor(() => codeIn(join(open, "sms.log")), { timeout: 60_000, interval: 100 });
    expect(await verify(rotated.admin, sent.userId, code)).toBe(200);
    done(await rotated.as().post("/v1/sessions", { loginName: person.username, password: person.password }));
    done(await rotated.as(person.client.token).get("/v1/users/me"));
  }
  {
    await using alone = await node(config, [fresh]);
    const rotation = await alone.admin.post(`${applications}/${written.appId}:rotateClientSecret`);
    expect(done(rotation).clientSecret).not.toBe(written.clientSecret);
    const { verificationCode: next } = await changed(alone.admin, person.userId, { returnCode: {} });
    expect(await verify(alone.admin, person.userId, next)).toBe(200);
  }
  await expect(startServer({ ...config, masterKeys: [old] })).rejects.toThrow(/^POSTERN_MASTER_KEY is not the key/);
});

test("after a rotation factors go on, and are sealed under the new key, so that the old one may go", async () => {
  await using database = await freshDatabase();
  await using cleared = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "postern-rotation-"));
  cleared.defer(() => rm(dataDir, { recursive: true }));
  const written = await (async () => {
    await using postern = await startPostern({ databaseUrl: database.url, masterKeys: [old], dataDir });
    const person = await withTotp(postern);
    const { codes } = done(await person.client.post("/v1/users/me/factors:generateRecoveryCodes"));
    return { config: postern.config, person, codes };
  })();
  const { config, person, codes } = written;
  const completed = async ({ as }: { as: (token?: string) => Client }, answer: object) => {
    const { username: loginName, password } = person;
    const { pending } = done(await as().post("/v1/sessions", { loginName, password }));
    return done(await as().post("/v1/sessions:complete", { pendingToken: pending.token, ...answer })).token;
  };
  // The node that ended may hold the lease of the sweep for a while.
  await ask(database.url, "delete from leases");
  const sealed = () => ask<{ by: string }>(database.url, "select left(sealed::text, 12) as by from factor_secrets");
  const before = await sealed();
  expect(new Set(before.map(({ by }) => by)).size).toBe(1);
  {
    await using rotated = await node(config, [fresh, old]);
    expect(await completed(rotated, { recoveryCode: codes[0] })).toMatch(/^ps_/);
    await vi.waitFor(
      async () => {
        for (const { by } of await sealed()) expect(by).not.toBe(before[0]?.by);
      },
      { timeout: 60_000, interval: 100 },
    );
  }
  await using alone = await node(config, [fresh]);
  expect(await completed(alone, { recoveryCode: codes[1] })).toMatch(/^ps_/);
  expect(await completed(alone, { totpCode: person.code() })).toMatch(/^ps_/);
}, 600_000);

/** The code of the one SMS in the file; an error while it is not written whole. */
async function codeIn(path: string): Promise<string> {
  const [code] = /[0-9A-Z]{6}(?= is your)/.exec(await readFile(path, "utf8")) ?? [];
  if (code === undefined) throw new Error("the SMS is not written yet");
  return code;
}
