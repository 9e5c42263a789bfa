import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { base32Bytes, totpCode as codeAt, totpStep } from "../../src/security/totp.ts";
import { organization } from "../harness.ts";
import { at, file, folder, named, pbkdf2, postern, refusedOf, run, setScene, signIn, within } from "./scene.ts";

setScene();

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
        attributes: { "backchannel.logout.url": "https://shop.example/logout", "access.token.lifespan": "900" },
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
  expect(await run("import", path, ...args)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("8 created, 0 already there, 0 refused\n"),
  });
  const { users, apps, userGrants } = await within(organizationId);
  expect(users.map((user: { state: string }) => user.state).sort()).toEqual([
    ...["USER_STATE_ACTIVE", "USER_STATE_ACTIVE", "USER_STATE_INACTIVE"],
  ]);
  expect(apps.map(({ oidc }: { oidc: { backChannelLogoutUri: string } }) => oidc.backChannelLogoutUri).sort()).toEqual([
    ...["", "", "https://shop.example/logout"],
  ]);
  expect(apps).toContainEqual(
    expect.objectContaining({
      oidc: expect.objectContaining({ accessTokenLifetime: "900s", idTokenLifetime: "900s" }),
    }),
  );
  expect(userGrants).toMatchObject([{ userId: id, roleKeys: ["reader", "shop/buyer"] }]);
  expect((await signIn(username, "password")).status).toBe(200);
});

const reasonIn = (body: { details?: { reason?: string }[] }) => body.details?.[0]?.reason;

const otp = (more: object = {}, secret: object = { value: "3bTpVn0pPYkdHuQcGZ5L" }) => ({
  type: "otp",
  secretData: JSON.stringify(secret),
  credentialData: JSON.stringify({
    subType: "totp",
    digits: 6,
    counter: 0,
    period: 30,
    algorithm: "HmacSHA1",
    ...more,
  }),
});
const pbkdf2Credential = (more: object = {}) => ({
  ...{ type: "password", secretData: JSON.stringify(pbkdf2), ...more },
  credentialData: JSON.stringify({ hashIterations: 1000, algorithm: "pbkdf2-sha256" }),
});

/** Imports the users of a realm, and answers how each signs in by its password. */
async function imported(users: readonly object[], more: object = {}) {
  const organizationId = await organization(postern);
  const people = users.map((user) => ({
    ...{
      username: named("kc"),
      email: `${named("kc")}@example.com`,
      firstName: "Ada",
      lastName: "Byron",
      enabled: true,
    },
    ...{ credentials: [pbkdf2Credential()], ...user },
  }));
  const path = await file(JSON.stringify({ realm: "Realm", users: people, ...more }));
  const { stdout } = await run("import", path, "--organization", organizationId, "--from", "keycloak");
  const found = (await within(organizationId)).users as { username: string; id: string; human: object }[];
  const answers = [];
  for (const { username } of people) {
    const user = found.find((one) => one.username === username);
    answers.push({ user, ...(await signIn(username, "password")) });
  }
  return { stdout, path, answers, organizationId };
}

test("a second factor of Keycloak comes along where its secret can, else the user enrols one before anything else", async () => {
  const base32 = { secretEncoding: "BASE32" };
  const { answers, stdout, path } = await imported([
    { credentials: [otp(), pbkdf2Credential()] },
    { credentials: [pbkdf2Credential(), otp(base32, { value: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP" })] },
    ...[{ algorithm: "HmacSHA256" }, { digits: 8 }, { period: 60 }, { subType: "hotp" }].map((odd) => ({
      credentials: [pbkdf2Credential(), otp(odd)],
    })),
    { credentials: [pbkdf2Credential(), { type: "webauthn" }] },
    { credentials: [pbkdf2Credential(), { type: "webauthn-passwordless" }] },
    { requiredActions: ["CONFIGURE_TOTP"] },
    {},
  ]);
  const secrets = [Buffer.from("3bTpVn0pPYkdHuQcGZ5L"), base32Bytes("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")];
  for (const [n, secret] of secrets.entries()) {
    const { pending, token } = answers[n]?.body ?? {};
    expect([token, pending.factors]).toEqual(["", ["FACTOR_KIND_TOTP"]]);
    const totpCode = codeAt(secret, totpStep(new Date()));
    const done = await postern.as().post("/v1/sessions:complete", { pendingToken: pending.token, totpCode });
    expect(done.status).toBe(200);
  }
  expect(answers.slice(2).map(({ body }) => body.enrolmentOnly)).toEqual([...Array(7).fill(true), false]);
  expect(stdout).toContain("users, 6: its second factor could not be imported");
  const notes = (await readFile(`${path}.notes`, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(notes.filter(({ changed }) => changed).map(({ at, kind }) => [at, kind])).toEqual(
    [2, 3, 4, 5, 6, 7, 8].map((n) => [`users[${n}]`, "user"]),
  );
  expect((await stat(`${path}.notes`)).mode & 0o777).toBe(0o600);
  expect(JSON.stringify([notes, stdout])).not.toContain("3bTpVn0p");
});

test("required actions stay required, a verified address stays verified, and what does not come along is said", async () => {
  const { answers, stdout } = await imported([
    { emailVerified: true },
    { emailVerified: true, requiredActions: ["VERIFY_EMAIL"] },
    { requiredActions: ["UPDATE_PASSWORD", "TERMS_AND_CONDITIONS"] },
    { credentials: [pbkdf2Credential({ temporary: true })] },
    {
      ...{ credentials: [], federationLink: "ldap", groups: ["/staff"] },
      attributes: {
        locale: ["de"],
        shoeSize: ["38"],
        teams: ["red", "blue"],
        "no key": ["7"],
        long: ["x".repeat(501)],
      },
    },
    { enabled: false, emailVerified: true },
  ]);
  type Human = { emailVerified?: boolean; language?: string } | undefined;
  const humans = answers.map(({ user }) => user?.human as Human);
  const verified = humans.map((human) => human?.emailVerified);
  expect(humans.map((human) => human?.language)).toEqual([...Array(4), "de", undefined]);
  expect(verified).toEqual([true, false, false, false, false, true]);
  expect(answers.map(({ status, body }) => [status, reasonIn(body)])).toEqual([
    ...[
      [200, undefined],
      [200, undefined],
      [400, "PASSWORD_CHANGE_REQUIRED"],
      [400, "PASSWORD_CHANGE_REQUIRED"],
    ],
    ...[
      [401, "SIGN_IN_FAILED"],
      [401, "SIGN_IN_FAILED"],
    ],
  ]);
  expect(stdout).toMatch(/^users +6 +0 +1 +2 +0$/m);
  for (const line of [
    "users, 1: the required action TERMS_AND_CONDITIONS",
    "users, 1: its password, which is in another directory. InviteUser lets the user choose one",
    "users, 1: the roles of its groups",
    'users, 1: its metadata "no key", "long"',
    'users, 1: its metadata "teams" is JSON now',
  ])
    expect(stdout).toContain(line);
  const withAttributes = answers[4]?.user?.id;
  expect((await postern.admin.get(`/v1/users/${withAttributes}/metadata`)).body.entries).toEqual([
    { key: "shoeSize", value: "38", shared: false },
    { key: "teams", value: '["red","blue"]', shared: false },
  ]);
});

test("clients of Keycloak keep how they authenticate and whether they are enabled, and nothing that is lost is silent", async () => {
  const jwks = { "use.jwks.url": "true", "jwks.url": "https://shop.example/jwks" };
  const client = (more: object) => ({ clientId: named("client"), redirectUris: ["https://shop.example/cb"], ...more });
  const clients = [
    client({ name: "Off", enabled: false, publicClient: true }),
    client({ name: "Jwt", clientAuthenticatorType: "client-jwt", attributes: jwks }),
    client({ name: "Keyless", clientAuthenticatorType: "client-jwt" }),
    client({ name: "Api", bearerOnly: true, clientAuthenticatorType: "client-secret", secret: "s3cret" }),
    client({ name: "Wild", publicClient: true, redirectUris: ["https://shop.example/*"] }),
    client({ name: "Rooted", publicClient: true, rootUrl: "https://shop.example", redirectUris: ["/callback"] }),
    client({ name: "Rootless", publicClient: true, redirectUris: ["/callback", "https://shop.example/cb"] }),
    client({ name: "Brief", publicClient: true, attributes: { "access.token.lifespan": "30" } }),
    client({ name: "Masked", secret: "*****", serviceAccountsEnabled: true }),
    client({ name: "Tls", clientAuthenticatorType: "client-x509" }),
    client({ name: "Saml", protocol: "saml" }),
  ];
  const { stdout, organizationId, path } = await imported([], { clients, roles: { realm: [] } });
  const { apps } = await within(organizationId);
  // biome-ignore lint/suspicious/noExplicitAny: answers of the service.
  const of = (name: string): any => apps.find((one) => one.name === name);
  expect(apps.map(({ name }) => name).sort()).toEqual([
    ...["Api", "Brief", "Jwt", "Keyless", "Masked", "Off", "Rooted", "Rootless", "Wild"],
  ]);
  expect([of("Off").state, of("Jwt").state]).toEqual(["APPLICATION_STATE_INACTIVE", "APPLICATION_STATE_ACTIVE"]);
  expect(of("Jwt").oidc.authMethodType).toBe("OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT");
  const keys = await postern.admin.get(
    `/v1/projects/${of("Jwt").projectId}/applications/${of("Jwt").id}/keys`,
    at(organizationId),
  );
  expect(keys.body.keys).toMatchObject([{ jwksUri: "https://shop.example/jwks" }]);
  expect(of("Api").api.authMethodType).toBe("API_AUTH_METHOD_TYPE_BASIC");
  expect([of("Wild"), of("Rooted"), of("Rootless")].map(({ oidc }) => oidc.redirectUris)).toEqual([
    ...[[], ["https://shop.example/callback"], ["https://shop.example/cb"]],
  ]);
  expect(of("Brief").oidc.accessTokenLifetime).toBe("60s");
  for (const line of [
    "applications, 1: the lifetime of its tokens, which must be between one minute and 24 hours",
    "applications, 1: redirect URIs with a wildcard; register each address in full",
    "applications, 1: sign-in; nobody can sign in until it has a redirect URI",
    "applications, 1: relative redirect URIs, because it has no root URL",
    "applications, 1: its key; until you add one with AddApplicationKey, it cannot authenticate",
    "applications, 1: its client secret; RotateClientSecret creates a new one",
    "applications, 1: the client credentials grant; use a machine user with an access token instead",
    "applications, 1: a client that authenticates with client-x509",
    "applications, 1: a client with the protocol saml",
  ])
    expect(stdout).toContain(line);
  expect(stdout).toMatch(/^applications +8 /m);
  // A second run changes nothing, and says the same.
  const again = await run("import", path, "--organization", organizationId, "--from", "keycloak");
  expect(again.stdout).toContain("0 created, 10 already there, 0 refused\n");
});

test("a folder of Keycloak's own export is imported, with the users of all its files and their grants", async () => {
  const organizationId = await organization(postern);
  const dir = await mkdtemp(join(folder, "export-"));
  const person = () => ({
    ...{
      id: crypto.randomUUID(),
      username: named("kc"),
      email: "ada@example.com",
      firstName: "Ada",
      lastName: "Byron",
    },
    ...{ realmRoles: ["reader"], credentials: [pbkdf2Credential()] },
  });
  await writeFile(
    join(dir, "shop-realm.json"),
    JSON.stringify({ realm: "shop", roles: { realm: [{ name: "reader" }] } }),
  );
  for (const n of [0, 1, 10])
    await writeFile(join(dir, `shop-users-${n}.json`), JSON.stringify({ realm: "shop", users: [person(), person()] }));
  const args = ["--organization", organizationId, "--from", "keycloak"];
  const { code, stdout, stderr } = await run("import", `${dir}/`, ...args);
  expect([code, stdout.split("\n")[0]], stderr).toEqual([0, "13 created, 0 already there, 0 refused"]);
  expect((await within(organizationId)).userGrants).toHaveLength(6);
  const none = await mkdtemp(join(folder, "empty-"));
  expect((await run("import", none, ...args)).stderr).toContain("one file must have a name like shop-realm.json");
});

test("one refused role does not take the other roles of a user, and a refusal speaks of its own item alone", async () => {
  const roles = { realm: [{ name: "reader" }, { name: "with blank" }] };
  const email = () => `${named("kc")}@example.com`;
  const { stdout, path, organizationId } = await imported(
    [
      { realmRoles: ["reader", "with blank", "nowhere"], email: email() },
      { realmRoles: ["reader"], email: email() },
      { email: "" },
      { email: "nowhere" },
    ],
    { roles },
  );
  const { userGrants } = await within(organizationId);
  expect(userGrants.map(({ roleKeys }: { roleKeys: string[] }) => roleKeys)).toEqual([["reader"], ["reader"]]);
  expect(stdout).toContain("grants, 1: the role with blank, which was refused");
  expect(stdout).toContain("grants, 1: the role nowhere, which was refused");
  const refused = await refusedOf(path);
  const messages = refused.filter(({ item }) => item.human).map(({ message }) => message);
  expect(messages).toHaveLength(2);
  for (const message of messages) expect(message).not.toMatch(/items\[|more/);
});
