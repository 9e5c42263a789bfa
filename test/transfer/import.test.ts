import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { errorText } from "../../src/messages/catalogue.ts";
import { userIdFor } from "../../src/transfer/user_id.ts";
import { compiled } from "../compiled.ts";
import { organization } from "../harness.ts";
import { program } from "../program.ts";
import {
  at,
  bcrypt,
  file,
  folder,
  human,
  named,
  ndjson,
  postern,
  refusedOf,
  run,
  setScene,
  signIn,
  within,
} from "./scene.ts";

setScene();

const clientSecretHash = createHash("sha256").update("secret").digest("hex");

const backChannelLogoutUri = "https://shop.example/logout";

const resourceServer = () => ({
  ...{ resourceUris: [`https://${named("api")}.example/mcp`], accessTokenAlgorithm: "ACCESS_TOKEN_ALGORITHM_RS256" },
  scopes: [{ name: "read", role: "viewer", texts: { en: "see your orders" } }],
});

async function shop(organizationId: string) {
  const [ada, bob] = [named("ada"), named("bob")];
  const lines = [
    {
      project: {
        name: "Shop",
        grantRequired: true,
        roles: [{ key: "viewer", displayName: "Viewer" }, { key: "editor" }],
      },
    },
    {
      application: {
        ...{ project: "Shop", name: "Web", clientId: named("client"), clientSecretHash, backChannelLogoutUri },
        ...{ accessTokenLifetime: "900s", refreshTokenLifetime: "3600s" },
      },
    },
    {
      apiApplication: {
        project: "Shop",
        name: "API",
        clientId: named("client"),
        clientSecretHash,
        ...resourceServer(),
      },
    },
    human(ada, { address: { locality: "London", country: "United Kingdom" } }),
    { ...human(bob, { userId: named("bob-id") }), inactive: true },
    { machine: { username: named("robot"), name: "Robot", metadata: [{ key: "desk", value: "9" }] } },
    { grant: { username: ada, project: "Shop", roleKeys: ["viewer", "editor"] } },
  ];
  return { path: await ndjson(...lines), ada, bob, args: ["--organization", organizationId] };
}

test("a file with a project, an application, users and a grant is imported, and passed over the second time", async () => {
  const organizationId = await organization(postern);
  const { path, ada, bob, args } = await shop(organizationId);
  expect(await run("import", path, ...args)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("7 created, 0 already there, 0 refused\n"),
  });
  const made = await within(organizationId);
  expect(made.users.map(({ username }: { username: string }) => username)).toContain(ada);
  expect(made.users.find(({ username }: { username: string }) => username === bob).state).toBe("USER_STATE_INACTIVE");
  expect(made.userGrants).toMatchObject([{ roleKeys: ["editor", "viewer"] }]);
  expect(made.apps).toMatchObject([
    { name: "API", api: {} },
    { name: "Web", oidc: {} },
  ]);
  expect(await run("import", path, ...args)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("0 created, 7 already there, 0 refused\n"),
  });
  expect((await within(organizationId)).users).toHaveLength(3);
});

test("a part of a file that was imported before is passed over, and the rest is made", async () => {
  const lines = Array.from({ length: 1200 }, () => human());
  const args = ["--organization", await organization(postern)];
  await run("import", await ndjson(...lines.slice(0, 700)), ...args);
  const whole = await run("import", await ndjson(...lines), ...args);
  expect(whole).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("500 created, 700 already there, 0 refused\n"),
  });
});

test("an import that is interrupted ends what is under way, and goes on when it runs again", async () => {
  const organizationId = await organization(postern);
  const lines = Array.from({ length: 600 }, () => `${JSON.stringify(human())}\n`);
  const pipe = join(folder, randomBytes(6).toString("hex"));
  await promisify(execFile)("mkfifo", [pipe]);
  const args = [program, "import", pipe, "--url", postern.url, "--organization", organizationId];
  const env = { ...compiled, POSTERN_ADMIN_TOKEN: postern.config.adminToken };
  const importing = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const [ended, output] = [once(importing, "exit"), text(importing.stdout)];
  await using writer = await open(pipe, "w");
  await writer.writeFile(lines.slice(0, 550).join(""));
  const users = async () => (await within(organizationId)).users;
  await vi.waitFor(async () => expect(await users()).toHaveLength(500), { timeout: 60_000, interval: 100 });
  importing.kill("SIGINT");
  // The reader sees the signal at the next line.
  const more = setInterval(() => void writer.writeFile("\n{}\n").catch(() => {}), 50);
  const [code] = await ended;
  clearInterval(more);
  expect(code).toBe(1);
  expect(await output).toContain("interrupted; run the command again to continue");
  const made = (await users()).length;
  const again = await run("import", await file(lines.join("")), "--organization", organizationId);
  expect(again.stdout).toContain(`${600 - made} created, ${made} already there, 0 refused\n`);
});

test("what is refused is in a file for its owner only, with place and reasons, and the rest is made", async () => {
  const taken = named("taken");
  await postern.admin.post("/v1/users/machine", { username: taken, name: "Robot" });
  const lines = [
    ...[JSON.stringify(human()), "{", JSON.stringify(human(taken)), JSON.stringify(human("a b", { email: "nowhere" }))],
    ...["[]", "", '{"humans":{}}', JSON.stringify({ ...human(), inactive: "yes" }), `"${"x".repeat(1 << 20)}"`],
    ...[JSON.stringify(human(named("u"), { passwordHash: "$2b$31$".padEnd(60, "C") })), JSON.stringify(human())],
    ...['{"grant":{"userId":"nobody","project":"nothing","roleKeys":[]}}', '{"human":{"username":"x","phones":[]}}'],
    // JSON can be read deeper than it can be written.
    ...[`{"human":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, JSON.stringify(human())],
  ];
  const path = await file(lines.join("\n"));
  const { code, stdout } = await run("import", path);
  expect([code, stdout.split("\n")[0]]).toEqual([1, "3 created, 0 already there, 11 refused"]);
  const refused = await refusedOf(path);
  const reasons = Object.fromEntries(refused.map((one) => [one.at, one.reason ?? one.message]));
  expect(reasons).toEqual({
    "line 2": expect.stringContaining("is not JSON"),
    "line 3": "LOGIN_NAME_TAKEN",
    "line 4": "VALIDATION_FAILED",
    "line 5": "must be an object",
    "line 7": expect.stringContaining('not "humans"'),
    "line 8": "inactive must be true or false",
    "line 9": "is longer than 1048576 bytes",
    "line 10": "VALIDATION_FAILED",
    "line 12": "PROJECT_NOT_FOUND",
    "line 13": expect.stringContaining("phones"),
    "line 14": "human must be an object",
  });
  const costly = refused.find((one) => one.at === "line 10");
  const description = errorText("PASSWORD_HASH_TOO_COSTLY", { parameter: "cost", value: 31, most: 13 });
  expect(costly.violations).toContainEqual({ field: "human.passwordHash", description });
  expect(costly.item.human.givenName).toBe("Ada");
  expect((await stat(`${path}.refused`)).mode & 0o777).toBe(0o600);
});

test("each of many malformed lines is refused with what is wrong with it", async () => {
  const lines = Array.from({ length: 250 }, () => human(named("u"), { email: "nowhere" }));
  const path = await ndjson(...lines, human());
  const { stdout } = await run("import", path);
  expect(stdout.split("\n")[0]).toBe("1 created, 0 already there, 250 refused");
  const refused = await refusedOf(path);
  const descriptions = new Set(refused.map(({ violations }) => JSON.stringify(violations)));
  const description = errorText("TEXT_EMAIL");
  expect([...descriptions]).toEqual([JSON.stringify([{ field: "human.email", description }])]);
  expect(refused[249].message).toBe(`human.email ${description}`);
});

test("a grant never goes to somebody else who has taken the id or the name of its user", async () => {
  const organizationId = await organization(postern);
  const [squatted, taken, both, refused] = [named("ada"), named("bob"), named("eve"), named("cleo-id")];
  const inside = at(organizationId);
  // Users of the administrator's organization, which is another one.
  for (const [username, userId] of [
    [named("squatter"), userIdFor(organizationId, squatted)],
    [taken, named("bob-id")],
    [both, userIdFor(organizationId, both)],
    [named("squatter"), refused],
  ])
    expect((await postern.admin.post("/v1/users/machine", { username, name: "Robot", userId })).status).toBe(200);
  const there = named("dora");
  const { userId } = (await postern.admin.post("/v1/users/machine", { username: there, name: "Robot" }, inside)).body;
  const grant = (user: object) => ({ grant: { ...user, project: "Shop", roleKeys: ["viewer"] } });
  const path = await ndjson(
    ...[{ project: { name: "Shop", roles: [{ key: "viewer" }] } }, human(squatted), human(taken)],
    ...[human(named("cleo"), { userId: refused }), grant({ username: squatted }), grant({ username: taken })],
    ...[grant({ userId: refused }), grant({ username: there }), human(both), grant({ username: both })],
  );
  const { stdout } = await run("import", path, "--organization", organizationId);
  expect(stdout.split("\n")[0]).toBe("2 created, 0 already there, 8 refused");
  const reasons = (await refusedOf(path)).map((one) => [one.at, one.reason]);
  expect(Object.fromEntries(reasons)).toEqual({
    ...{ "line 2": "ID_TAKEN", "line 3": "LOGIN_NAME_TAKEN", "line 4": "ID_TAKEN" },
    ...{ "line 5": "USER_NOT_FOUND", "line 6": "USER_NOT_FOUND", "line 7": "USER_NOT_FOUND" },
    ...{ "line 9": "LOGIN_NAME_TAKEN", "line 10": "USER_NOT_FOUND" },
  });
  expect((await within(organizationId)).userGrants).toMatchObject([{ userId }]);
});

/** How often the metadata of a single user was read, which an export would do for each. */
async function metadataReads(): Promise<number> {
  const lines = (await (await fetch(`${postern.url}/metrics`)).text()).matchAll(
    /^postern_calls_total\{operation="[^"]*GetUserMetadata".* (\d+)$/gm,
  );
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

test("what an organization exports another one imports", async () => {
  const { path, args } = await shop(await organization(postern));
  await run("import", path, ...args);
  const before = await metadataReads();
  const { code, stdout } = await run("export", ...args);
  expect(code).toBe(0);
  expect(await metadataReads()).toBe(before);
  expect(stdout).toContain('"metadata":[{"key":"desk","value":"9"}]');
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(7);
  expect(stdout).toContain('"accessTokenLifetime":"900s"');
  expect(stdout).toMatch(/\.example\/mcp"\],"scopes":\[.*\],"accessTokenAlgorithm":"ACCESS_TOKEN_ALGORITHM_RS256"/);
  expect(stdout).not.toContain(clientSecretHash);
  // Ids and names are taken where they come from, so they are others here.
  const renamed = stdout
    .replace(/"(username|userId|clientId)":"([^"]+)"/g, '"$1":"$2-2"')
    .replaceAll("example/mcp", "example/mcp2");
  const elsewhere = await organization(postern);
  const second = await run("import", await file(renamed), "--organization", elsewhere);
  expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining("7 created, 0 already there, 0 refused\n") });
  const there = await run("export", "--organization", elsewhere);
  expect(there.stdout).toBe(renamed);
});

test("a role that is refused leaves the others, and a user who may not be deactivated is refused", async () => {
  const name = named("project");
  const admin = {
    human: { userId: postern.adminId, username: "admin", givenName: "A", familyName: "B", email: "a@b.de" },
  };
  const path = await ndjson(
    { project: { name, roles: [{ key: "a b" }, { key: "reader" }, { key: "Reader" }] } },
    { ...admin, inactive: true },
    human(),
  );
  expect((await run("import", path)).stdout.split("\n")[0]).toBe("1 created, 0 already there, 2 refused");
  const refused = await refusedOf(path);
  expect(refused.map(({ at, reason }) => [at, reason])).toEqual([
    ["line 1", "VALIDATION_FAILED"],
    ["line 2", "LAST_OWNER"],
  ]);
  expect(refused[0]?.message).toMatch(/role "a b": .*; role "Reader": role "reader" already exists/);
  const { id } = (await within(postern.organizationId)).projects.find((one: { name: string }) => one.name === name);
  expect((await postern.admin.get(`/v1/projects/${id}/roles`)).body.roles).toMatchObject([{ key: "reader" }]);
});

test("users of Auth0 sign in with the hashes of their passwords", async () => {
  const [email, blocked] = [`${named("a0")}@example.com`, `${named("a0")}@example.com`];
  const path = await ndjson(
    { _id: { $oid: named("id") }, email, name: "Ada Byron", passwordHash: bcrypt },
    {
      ...{ user_id: `auth0|${named("id")}`, email: blocked, passwordHash: bcrypt, blocked: true },
      ...{ app_metadata: { plan: "gold", seats: 5 }, user_metadata: { plan: "platinum", a: "\0" } },
    },
  );
  expect(await run("import", path, "--from", "auth0")).toMatchObject({ code: 0 });
  expect((await signIn(email, "password")).status).toBe(200);
  expect((await signIn(blocked, "password")).status).toBe(401);
  const { body } = await postern.admin.get(`/v1/users:byLoginName?loginName=${encodeURIComponent(blocked)}`);
  // What users could write at Auth0 does not pass for what administrators wrote.
  expect((await postern.admin.get(`/v1/users/${body.user.id}/metadata`)).body.entries).toEqual([
    { key: "plan", value: "gold", shared: false },
    { key: "seats", value: "5", shared: false },
    { key: "user_metadata.plan", value: "platinum", shared: false },
  ]);
});

test("a service that cannot be called, a token that is none, and a wrong option are one line", async () => {
  const path = await ndjson(human());
  const token = await file("pt_not-a-token-of-this-instance-at-all");
  const wrong = [
    ["--token-file", token],
    ["--token-file", join(folder, "none")],
  ];
  for (const args of wrong) {
    const { code, stderr } = await run("import", path, ...args);
    expect([code, stderr.split("\n").length], stderr).toEqual([1, 2]);
  }
  expect((await run("import", join(folder, "none"))).stderr).toContain("cannot be read");
  expect((await run("import")).code).toBe(2);
  expect(await run("import", path, "--from", "okta")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--from must be one of postern, keycloak, auth0, not okta"),
  });
});

test("a forgotten --from is one line, and no file is touched", async () => {
  const realm = JSON.stringify({ id: "shop", realm: "shop", users: [{ username: "x" }] }, null, 2);
  const exports = [
    await file(realm),
    await file(JSON.stringify(JSON.parse(realm))),
    await file('{"user_id":"auth0|1"}'),
  ];
  const dir = await mkdtemp(join(folder, "realm-"));
  for (const path of [...exports, dir]) {
    await writeFile(`${path}.refused`, "of the run before");
    const { code, stderr } = await run("import", path);
    expect([code, stderr], stderr).toEqual([2, expect.stringContaining("--from keycloak")]);
    expect(await readFile(`${path}.refused`, "utf8")).toBe("of the run before");
  }
});

test("users of Auth0 keep a verified address, and those with a second factor enrol one before anything else", async () => {
  const [plain, strong] = [`${named("a0")}@example.com`, `${named("a0")}@example.com`];
  const organizationId = await organization(postern);
  const path = await ndjson(
    { user_id: `auth0|${named("id")}`, email: plain, email_verified: true, passwordHash: bcrypt },
    { user_id: `auth0|${named("id")}`, email: strong, multifactor: ["guardian"], passwordHash: bcrypt },
    {
      user_id: `google|${named("id")}`,
      email: `${named("a0")}@example.com`,
      identities: [{ provider: "google-oauth2" }],
    },
  );
  const { stdout } = await run("import", path, "--from", "auth0", "--organization", organizationId);
  const { users } = await within(organizationId);
  const verified = users.filter(({ human }: { human: { emailVerified: boolean } }) => human.emailVerified);
  expect(verified.map(({ username }: { username: string }) => username)).toEqual([plain]);
  expect((await signIn(plain, "password")).body.enrolmentOnly).toBe(false);
  expect((await signIn(strong, "password")).body.enrolmentOnly).toBe(true);
  expect(stdout).toContain("users, 1: its sign-in by another identity provider");
});
