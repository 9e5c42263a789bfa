import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { userIdFor } from "../../src/transfer/user_id.ts";
import { organization, type Postern, startPostern } from "../harness.ts";

let postern: Postern;
let folder: string;
beforeAll(async () => {
  postern = await startPostern();
  folder = await mkdtemp(join(tmpdir(), "postern-import-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await postern[Symbol.asyncDispose]();
});

const program = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

function run(...args: string[]) {
  const env = { POSTERN_ADMIN_TOKEN: postern.config.adminToken };
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) =>
    execFile(process.execPath, [program, ...args, "--url", postern.url], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

async function file(text: string): Promise<string> {
  const path = join(folder, randomBytes(6).toString("hex"));
  await writeFile(path, text);
  return path;
}

const ndjson = (...lines: object[]) => file(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
const named = (what: string) => `${what}-${randomBytes(6).toString("hex")}`;
const human = (username = named("u"), more: object = {}) => ({
  human: { username, givenName: "Ada", familyName: "Byron", email: "ada@example.com", ...more },
});
const signIn = (loginName: string, password: string) => postern.as().post("/v1/sessions", { loginName, password });
const at = (organizationId: string) => ({ "x-service-orgid": organizationId });

async function within(organizationId: string) {
  const read = async (path: string) => (await postern.admin.get(path, at(organizationId))).body;
  const { users } = await read("/v1/users?pageSize=1000");
  const { projects } = await read("/v1/projects?pageSize=1000");
  const { userGrants } = await read("/v1/user-grants?pageSize=1000");
  const apps = [];
  for (const { id } of projects) apps.push(...(await read(`/v1/projects/${id}/applications`)).applications);
  return { users, projects, userGrants, apps };
}

const refusedOf = async (path: string) =>
  (await readFile(`${path}.refused`, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const clientSecretHash = createHash("sha256").update("secret").digest("hex");

const backChannelLogoutUri = "https://shop.example/logout";

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
      application: { project: "Shop", name: "Web", clientId: named("client"), clientSecretHash, backChannelLogoutUri },
    },
    { apiApplication: { project: "Shop", name: "API", clientId: named("client"), clientSecretHash } },
    human(ada, { address: { locality: "London", country: "United Kingdom" } }),
    { ...human(bob, { userId: named("bob-id") }), inactive: true },
    { machine: { username: named("robot"), name: "Robot" } },
    { grant: { username: ada, project: "Shop", roleKeys: ["viewer", "editor"] } },
  ];
  return { path: await ndjson(...lines), ada, bob, args: ["--organization", organizationId] };
}

test("a file with a project, an application, users and a grant is imported, and passed over the second time", async () => {
  const organizationId = await organization(postern);
  const { path, ada, bob, args } = await shop(organizationId);
  expect(await run("import", path, ...args)).toMatchObject({ code: 0, stdout: "7 made, 0 there already, 0 refused\n" });
  const made = await within(organizationId);
  expect(made.users.map(({ username }: { username: string }) => username)).toContain(ada);
  expect(made.users.find(({ username }: { username: string }) => username === bob).state).toBe("USER_STATE_INACTIVE");
  expect(made.userGrants).toMatchObject([{ roleKeys: ["editor", "viewer"] }]);
  expect(made.apps).toMatchObject([
    { name: "API", api: {} },
    { name: "Web", oidc: {} },
  ]);
  expect(await run("import", path, ...args)).toMatchObject({ code: 0, stdout: "0 made, 7 there already, 0 refused\n" });
  expect((await within(organizationId)).users).toHaveLength(3);
});

test("a part of a file that was imported before is passed over, and the rest is made", async () => {
  const lines = Array.from({ length: 1200 }, () => human());
  const args = ["--organization", await organization(postern)];
  await run("import", await ndjson(...lines.slice(0, 700)), ...args);
  const whole = await run("import", await ndjson(...lines), ...args);
  expect(whole).toMatchObject({ code: 0, stdout: "500 made, 700 there already, 0 refused\n" });
});

test("an import that is interrupted ends what is under way, and goes on when it runs again", async () => {
  const organizationId = await organization(postern);
  const lines = Array.from({ length: 600 }, () => `${JSON.stringify(human())}\n`);
  const pipe = join(folder, randomBytes(6).toString("hex"));
  await promisify(execFile)("mkfifo", [pipe]);
  const args = [program, "import", pipe, "--url", postern.url, "--organization", organizationId];
  const env = { POSTERN_ADMIN_TOKEN: postern.config.adminToken };
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
  expect(await output).toContain("interrupted: run it again to go on");
  const made = (await users()).length;
  const again = await run("import", await file(lines.join("")), "--organization", organizationId);
  expect(again.stdout).toBe(`${600 - made} made, ${made} there already, 0 refused\n`);
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
  expect([code, stdout.split("\n")[0]]).toEqual([1, "3 made, 0 there already, 11 refused"]);
  const refused = await refusedOf(path);
  const reasons = Object.fromEntries(refused.map((one) => [one.at, one.reason ?? one.message]));
  expect(reasons).toEqual({
    "line 2": expect.stringContaining("is no JSON"),
    "line 3": "LOGIN_NAME_TAKEN",
    "line 4": "VALIDATION_FAILED",
    "line 5": "must be an object",
    "line 7": expect.stringContaining('not "humans"'),
    "line 8": "inactive must be true or false",
    "line 9": "has more than 1048576 bytes",
    "line 10": "VALIDATION_FAILED",
    "line 12": "PROJECT_NOT_FOUND",
    "line 13": expect.stringContaining("phones"),
    "line 14": "human must be an object",
  });
  const costly = refused.find((one) => one.at === "line 10");
  expect(JSON.stringify(costly.violations)).toContain("cost is 31, and may be at most 13");
  expect(costly.item.human.givenName).toBe("Ada");
  expect((await stat(`${path}.refused`)).mode & 0o777).toBe(0o600);
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
  expect(stdout.split("\n")[0]).toBe("2 made, 0 there already, 8 refused");
  const reasons = (await refusedOf(path)).map((one) => [one.at, one.reason]);
  expect(Object.fromEntries(reasons)).toEqual({
    ...{ "line 2": "ID_TAKEN", "line 3": "LOGIN_NAME_TAKEN", "line 4": "ID_TAKEN" },
    ...{ "line 5": "USER_NOT_FOUND", "line 6": "USER_NOT_FOUND", "line 7": "USER_NOT_FOUND" },
    ...{ "line 9": "LOGIN_NAME_TAKEN", "line 10": "USER_NOT_FOUND" },
  });
  expect((await within(organizationId)).userGrants).toMatchObject([{ userId }]);
});

test("what an organization exports another one imports", async () => {
  const { path, args } = await shop(await organization(postern));
  await run("import", path, ...args);
  const { code, stdout } = await run("export", ...args);
  expect(code).toBe(0);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toHaveLength(7);
  expect(stdout).not.toContain(clientSecretHash);
  // Ids and names are taken where they come from, so they are others here.
  const renamed = stdout.replace(/"(username|userId|clientId)":"([^"]+)"/g, '"$1":"$2-2"');
  const elsewhere = await organization(postern);
  const second = await run("import", await file(renamed), "--organization", elsewhere);
  expect(second).toMatchObject({ code: 0, stdout: "7 made, 0 there already, 0 refused\n" });
  const there = await run("export", "--organization", elsewhere);
  expect(there.stdout).toBe(renamed);
});

// The password is "password".
const pbkdf2 = { value: "kLtBogW4eLlXuMmJLo2X0vnwlXzAfkUerdCnyyrFaVc=", salt: "yMnKy8zNzs/Q0dLT1NXW1w==" };
const bcrypt = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.aDV7CQarKHMuNfh2oJkFzsHZya4whFe";

test("a realm of Keycloak becomes a project, applications, users who sign in, and their grants", async () => {
  const organizationId = await organization(postern);
  const [username, disabled, id] = [named("kc"), named("kc"), crypto.randomUUID()];
  const credentialData = JSON.stringify({ hashIterations: 1000, algorithm: "pbkdf2-sha256" });
  const credentials = [{ type: "otp" }, { type: "password", secretData: JSON.stringify(pbkdf2), credentialData }];
  const person = { email: "ada@example.com", firstName: "Ada", lastName: "Byron", enabled: true };
  const realm = {
    realm: "Realm",
    roles: {
      realm: [{ name: "reader" }, { name: "offline_access" }],
      client: { shop: [{ name: "buyer" }], account: [{ name: "x" }] },
    },
    clients: [
      {
        clientId: named("shop"),
        name: "Shop",
        secret: "s3cret",
        redirectUris: ["https://shop.example/cb"],
        webOrigins: ["+"],
        attributes: { "backchannel.logout.url": "https://shop.example/logout" },
      },
      { clientId: named("masked"), secret: "**********", protocol: "openid-connect" },
      { clientId: named("spa"), publicClient: true },
      { clientId: "account" },
      { clientId: "saml", protocol: "saml" },
    ],
    users: [
      { id, username, ...person, credentials, realmRoles: ["reader"], clientRoles: { shop: ["buyer"] } },
      { username: disabled, ...person, enabled: false, realmRoles: ["default-roles-realm"] },
      { username: named("service-account"), serviceAccountClientId: "shop" },
    ],
  };
  const path = await file(JSON.stringify(realm));
  const args = ["--organization", organizationId, "--from", "keycloak"];
  expect(await run("import", path, ...args)).toMatchObject({ code: 0, stdout: "8 made, 0 there already, 0 refused\n" });
  const { users, apps, userGrants } = await within(organizationId);
  expect(users.map((user: { state: string }) => user.state).sort()).toEqual([
    ...["USER_STATE_ACTIVE", "USER_STATE_ACTIVE", "USER_STATE_INACTIVE"],
  ]);
  expect(apps.map(({ oidc }: { oidc: { backChannelLogoutUri: string } }) => oidc.backChannelLogoutUri).sort()).toEqual([
    ...["", "", "https://shop.example/logout"],
  ]);
  expect(userGrants).toMatchObject([{ userId: id, roleKeys: ["reader", "shop/buyer"] }]);
  expect((await signIn(username, "password")).status).toBe(200);
});

test("a role that is refused leaves the others, and a user who may not be deactivated is refused", async () => {
  const name = named("project");
  const admin = {
    human: { userId: postern.adminId, username: "admin", givenName: "A", familyName: "B", email: "a@b.de" },
  };
  const path = await ndjson(
    { project: { name, roles: [{ key: "a b" }, { key: "reader" }] } },
    { ...admin, inactive: true },
    human(),
  );
  expect((await run("import", path)).stdout.split("\n")[0]).toBe("1 made, 0 there already, 2 refused");
  const refused = await refusedOf(path);
  expect(refused.map(({ at, reason }) => [at, reason])).toEqual([
    ["line 1", "VALIDATION_FAILED"],
    ["line 2", "LAST_OWNER"],
  ]);
  const { id } = (await within(postern.organizationId)).projects.find((one: { name: string }) => one.name === name);
  expect((await postern.admin.get(`/v1/projects/${id}/roles`)).body.roles).toMatchObject([{ key: "reader" }]);
});

test("users of Auth0 sign in with the hashes of their passwords", async () => {
  const [email, blocked] = [`${named("a0")}@example.com`, `${named("a0")}@example.com`];
  const path = await ndjson(
    { _id: { $oid: named("id") }, email, name: "Ada Byron", passwordHash: bcrypt },
    { user_id: `auth0|${named("id")}`, email: blocked, passwordHash: bcrypt, blocked: true },
  );
  expect(await run("import", path, "--from", "auth0")).toMatchObject({ code: 0 });
  expect((await signIn(email, "password")).status).toBe(200);
  expect((await signIn(blocked, "password")).status).toBe(401);
});

test("a service that cannot be called, a token that is none, and a wrong option are one line", async () => {
  const path = await ndjson(human());
  const token = await file("pt_not-a-token-of-this-instance-at-all");
  const wrong = [
    ["--token-file", token],
    ["--from", "ldap"],
    ["--token-file", join(folder, "none")],
  ];
  for (const args of wrong) {
    const { code, stderr } = await run("import", path, ...args);
    expect([code, stderr.split("\n").length], stderr).toEqual([1, 2]);
  }
  expect((await run("import", join(folder, "none"))).stderr).toContain("cannot be read");
  expect((await run("import")).code).toBe(2);
});
