import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rotateSigningKeys } from "../../src/maintenance/rotate_signing_keys.ts";
import { compiled } from "../compiled.ts";
import { signedUp } from "../harness.ts";
import { program } from "../program.ts";
import { type Application, application, basic, codeFor, exchange, type Person, post } from "../provider/application.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";

const run = promisify(execFile);

let nodes: TwoNodes;
let app: Application;
let person: Person;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
  app = await application(nodes.one.admin, { grantTypes, accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  person = await signedUp(nodes.one);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const scope = "openid offline_access";
async function tokens(): Promise<Record<"access_token" | "id_token" | "refresh_token", string>> {
  const { code } = await codeFor(nodes.one.url, app, person, { scope });
  return (await exchange(nodes.one.url, app, code)).body;
}

async function kidsAt({ url }: { url: string }): Promise<string[]> {
  const { keys } = (await (await fetch(`${url}/oauth/keys`)).json()) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid).sort();
}

/** Replaces the keys, and returns those that sign once all nodes know them. */
async function renewed(): Promise<string[]> {
  const lines = await rotateSigningKeys(nodes.one.config, true);
  const kids = lines.map((line) => line.split(" ")[1] ?? "").sort();
  for (const node of both()) await expect.poll(() => kidsAt(node)).toEqual(kids);
  return kids;
}

const kidOf = (token: string) => decodeProtectedHeader(token).kid ?? "";
const both = () => [nodes.one, nodes.two];
const introspected = async (token: string, node: { url: string }) =>
  (await post(node.url, "/oauth/introspect", { token }, basic(app))).body.active;

test("in an emergency new keys sign at once on all nodes, and what the others signed is refused", async () => {
  const before = await tokens();
  const old = await kidsAt(nodes.two);
  expect(old).toContain(kidOf(before.access_token));
  const lines = await rotateSigningKeys(nodes.one.config, true);
  expect(lines).toEqual([
    expect.stringMatching(/^RS256: [\w-]{43} now signs; withdrawn: [\w-]{43}$/),
    expect.stringMatching(/^ES256: [\w-]{43} now signs; withdrawn: [\w-]{43}$/),
  ]);
  for (const node of both())
    await expect.poll(async () => (await kidsAt(node)).some((kid) => old.includes(kid))).toBe(false);
  const fresh = await kidsAt(nodes.two);
  expect([fresh.length, await kidsAt(nodes.one)]).toEqual([2, fresh]);
  for (const node of both()) {
    const authorization = `Bearer ${before.access_token}`;
    expect((await fetch(`${node.url}/oauth/userinfo`, { headers: { authorization } })).status).toBe(401);
    expect(await introspected(before.access_token, node)).toBe(false);
  }
  // The sign-in goes on.
  const form = { grant_type: "refresh_token", refresh_token: before.refresh_token };
  const { body } = await post(nodes.two.url, "/oauth/token", form, basic(app));
  expect(fresh).toContain(kidOf(body.access_token));
  expect(fresh).toContain(kidOf(body.id_token));
  expect(decodeJwt(body.access_token).sub).toBe(person.userId);
  for (const node of both()) expect(await introspected(body.access_token, node)).toBe(true);
});

test("the log has each key with the others that it withdrew, and no secret", async () => {
  await rotateSigningKeys(nodes.one.config, true);
  const { body } = await nodes.one.admin.get("/v1/events?types=signing_key.added&pageSize=2");
  for (const { fact } of body.events)
    expect(fact.signingKey.added).toEqual({
      kid: expect.any(String),
      signsFrom: expect.any(String),
      withdrawsOthers: true,
    });
});

test("without an emergency the next keys are published, and those of before sign on; a second time changes nothing", async () => {
  const old = await renewed();
  const lines = await rotateSigningKeys(nodes.one.config, false);
  expect(lines.map((line) => line.replace(/(: )[\w-]{43}|\d{4}.*$/g, "$1"))).toEqual([
    "RS256:  is published, and will sign from ",
    "ES256:  is published, and will sign from ",
  ]);
  for (const node of both()) await expect.poll(async () => (await kidsAt(node)).length).toBe(4);
  expect(old).toContain(kidOf((await tokens()).access_token));
  expect(await rotateSigningKeys(nodes.one.config, false)).toEqual(lines);
  // Those that were only published may be known as well.
  await rotateSigningKeys(nodes.one.config, true);
  for (const node of both()) await expect.poll(async () => (await kidsAt(node)).length).toBe(2);
});

test("commands at once leave one key of each algorithm that signs, the same at all nodes", async () => {
  await Promise.all(Array.from({ length: 3 }, () => rotateSigningKeys(nodes.one.config, true)));
  for (const node of both()) {
    const agreed = async () => {
      const { code } = await codeFor(node.url, app, person, { scope });
      const signer = kidOf((await exchange(node.url, app, code)).body.id_token);
      const [one, two] = [await kidsAt(nodes.one), await kidsAt(nodes.two)];
      return one.length === 2 && one.join() === two.join() && one.includes(signer);
    };
    await expect.poll(agreed).toBe(true);
  }
});

test("the command has a page of the manual, and says by its exit code what became of it", async () => {
  const help = await run(process.execPath, [program, "rotate-signing-keys", "--help"]);
  expect(help.stdout).toContain("--emergency");
  const exit = (args: string[], env: Record<string, string> = {}) =>
    run(process.execPath, [program, "rotate-signing-keys", ...args], {
      env: { ...process.env, ...compiled, ...env },
    }).then(
      () => 0,
      ({ code }: { code: number }) => code,
    );
  expect(await exit(["--emergencies"])).toBe(2);
  const { databaseUrl = "", masterKeys } = nodes.one.config;
  const key = Buffer.from(masterKeys?.[0] ?? []).toString("base64");
  const wrong = Buffer.alloc(32).toString("base64");
  expect(await exit(["--emergency"], { DATABASE_URL: databaseUrl, POSTERN_MASTER_KEY: wrong })).toBe(1);
  expect(await exit(["--emergency"], { DATABASE_URL: databaseUrl, POSTERN_MASTER_KEY: key })).toBe(0);
});
