import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { recover } from "../../src/maintenance/recover.ts";
import { fastFolder } from "../fast_folder.ts";
import { eventually, type NodeOptions, nodeEnv, readyStatus, startNode } from "../first_start.ts";
import { withTotp } from "../fixture/factors.ts";
import { type Answer, machine, organization, signedUp, startPostern } from "../harness.ts";
import { program } from "../program.ts";
import { freePort } from "../wire/free_port.ts";

const run = promisify(execFile);
const wrong = "Wrong-Kettle-42";

const command = (options: NodeOptions, ...args: string[]) =>
  run(process.execPath, [program, "recover", ...args], { env: nodeEnv(options) });
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

test("the only administrator, locked for good and without a token, comes back while the service runs", async () => {
  await using postern = await startPostern();
  const { admin, adminId, config } = postern;
  done(await admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1, untilUnlocked: true } }));
  await postern.as().post("/v1/sessions", { loginName: "admin", password: wrong });
  expect(done(await admin.get(`/v1/users/${adminId}`)).user.state).toBe("USER_STATE_LOCKED");
  const [{ id: tokenId }] = done(await admin.get(`/v1/users/${adminId}/tokens`)).tokens;
  done(await admin.delete(`/v1/users/${adminId}/tokens/${tokenId}`));
  expect((await admin.get("/v1/users/me")).status).toBe(401);

  const { token, lines } = await recover(config);
  expect(lines).toEqual([
    `user admin (${adminId}), an owner of the instance`,
    "it was already active",
    "it was locked after wrong passwords, and is unlocked now",
    expect.stringMatching(/^created the access token \w{24}, which does not expire; /),
  ]);
  expect(lines.join()).not.toContain(token);
  const back = postern.as(token);
  expect(done(await back.get("/v1/users/me"))).toMatchObject({
    user: { id: adminId, state: "USER_STATE_ACTIVE" },
    roles: [{ role: "INSTANCE_OWNER" }],
  });
  const { events } = done(await back.get("/v1/events?pageSize=2"));
  expect(events.map(({ type }: { type: string }) => type)).toEqual(["access_token.created", "user.unlocked"]);
  done(await back.put(`/v1/users/${adminId}/password`, { newPassword: "Green-Teapot-43" }));
  done(await postern.as().post("/v1/sessions", { loginName: "admin", password: "Green-Teapot-43" }));
});

test("the factors of the user are removed, and the log says so", async () => {
  await using postern = await startPostern();
  const { userId, username, client, password } = await withTotp(postern);
  done(await client.post("/v1/users/me/factors:generateRecoveryCodes"));
  const { token, lines } = await recover(postern.config, { wanted: username });
  expect(lines).toContain("removed its second factors (2)");
  expect(done(await postern.as(token).get("/v1/users/me/factors")).factors).toEqual([]);
  expect(done(await postern.as().post("/v1/sessions", { loginName: username, password })).pending).toBeUndefined();
  const { events } = done(await postern.admin.get("/v1/events?types=factor.removed"));
  expect(events).toHaveLength(2);
  expect(events[0].fact.factor.removed).toEqual({ userId, byAdministrator: true });
});

test("the organization of the user is reactivated as well", async () => {
  await using postern = await startPostern();
  const organizationId = await organization(postern);
  const { userId } = await machine(postern, { organizationId });
  done(await postern.admin.post(`/v1/organizations/${organizationId}:deactivate`));
  const { token, lines } = await recover(postern.config, { wanted: userId });
  expect(lines[1]).toBe(`its organization (${organizationId}) was deactivated, and is active now`);
  expect(done(await postern.as(token).get("/v1/users/me")).organization.state).toBe("ORGANIZATION_STATE_ACTIVE");
});

test("a user is named by its id or its login name, and is reactivated", async () => {
  await using postern = await startPostern();
  const [ada, robot] = [await signedUp(postern), await machine(postern)];
  for (const { userId } of [ada, robot]) done(await postern.admin.post(`/v1/users/${userId}:deactivate`));
  for (const [wanted, userId] of [
    [ada.username.toUpperCase(), ada.userId],
    [robot.userId, robot.userId],
  ] as const) {
    const { token, lines } = await recover(postern.config, { wanted });
    expect(lines[0]).toMatch(/, not an owner of the instance: the token can do what the user's roles allow$/);
    expect(lines.slice(1, 3)).toEqual(["it was deactivated, and is active now", "it was not locked"]);
    expect(done(await postern.as(token).get("/v1/users/me")).user.id).toBe(userId);
  }
  const squatter = { username: `${ada.username}-2`, name: "Robot", userId: ada.username };
  done(await postern.admin.post("/v1/users/machine", squatter));
  await expect(recover(postern.config, { wanted: ada.username })).rejects.toThrow(
    /is the id of the user ".*-2" and the login name/,
  );
  await expect(recover(postern.config, { wanted: "nobody" })).rejects.toThrow(
    'No user has the id, the login name or the email address "nobody"',
  );
});

test("with the embedded database it works beside the service and without it; the token is alone on the output", async () => {
  const base = await fastFolder("postern-recover-");
  await using _ = { [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }) };
  const options = { databaseUrl: "", dataDir: join(base, "data"), port: await freePort() };
  await expect(command(options)).rejects.toMatchObject({
    code: 1,
    stderr: "postern: There is no administrator yet: start the service, or run bootstrap\n",
  });
  const me = async (url: string, token: string) =>
    (await fetch(`${url}/v1/users/me`, { headers: { authorization: `Bearer ${token.trim()}` } })).status;
  let first = "";
  {
    await using node = await startNode(options);
    await eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");
    const { stdout, stderr } = await command(options, "--user", "admin");
    expect(stdout).toMatch(/^pt_\w+\n$/);
    expect(stderr.split("\n")).toHaveLength(5);
    expect(await me(node.url, stdout)).toBe(200);
    first = stdout;
  }
  const { stdout } = await command(options);
  await using node = await startNode(options);
  await eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");
  expect([await me(node.url, stdout), await me(node.url, first)]).toEqual([200, 200]);
});
