import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { startTwoNodes } from "../../two_nodes.ts";
import { issuerOf, post } from "../application.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const document = async (url: string) => {
  const response = await fetch(url, { headers: { origin: "https://app.example" } });
  expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  return (await response.json()) as Record<string, unknown>;
};

test("both descriptions are the same, name this issuer, and each endpoint that they name is there", async () => {
  const description = await document(`${issuer}/.well-known/openid-configuration`);
  expect(await document(`${issuer}/.well-known/oauth-authorization-server`)).toEqual(description);
  expect(description.issuer).toBe(issuer);
  const endpoints = Object.entries(description).filter(([name]) => name.endsWith("_endpoint") || name === "jwks_uri");
  expect(endpoints.length).toBe(9);
  for (const [, url] of endpoints) expect((await fetch(url as string)).status).not.toBe(404);
});

test("the token endpoint takes every grant type of the description but implicit, whose tokens come without it", async () => {
  const { grant_types_supported: types } = await document(`${issuer}/.well-known/openid-configuration`);
  const answers = (types as string[]).map(async (type) => {
    const { status } = await post(issuer, "/oauth/token", { grant_type: type, client_id: "unknown" });
    // A grant type that is taken is asked for its parameter before its client is looked for.
    return [type, status];
  });
  expect(await Promise.all(answers)).toEqual([
    ["authorization_code", 400],
    ["implicit", 401],
    ["refresh_token", 400],
    ["urn:ietf:params:oauth:grant-type:device_code", 400],
    // It has no parameter of its own.
    ["client_credentials", 401],
    ["urn:ietf:params:oauth:grant-type:jwt-bearer", 400],
    // Its machine is looked for first.
    ["urn:ietf:params:oauth:grant-type:token-exchange", 401],
  ]);
});

test("keys are public halves alone, of both algorithms, each named", async () => {
  const { keys } = (await document(`${issuer}/oauth/keys`)) as { keys: Record<string, string>[] };
  expect(keys.map(({ alg, use }) => [alg, use]).sort()).toEqual([
    ["ES256", "sig"],
    ["RS256", "sig"],
  ]);
  for (const key of keys)
    expect(Object.keys(key).filter((name) => ["d", "p", "q", "dp", "dq", "qi", "k"].includes(name))).toEqual([]);
  for (const { kid = "" } of keys) expect(kid).toMatch(/^[\w-]{43}$/);
  const kept = await ask(
    postern.databaseUrl,
    "select string_agg(encode(sealed, 'escape'), '') as sealed from signing_keys",
  );
  expect(JSON.stringify(kept)).not.toContain("kty");
});

test("two nodes that need the first key at once agree on one", async () => {
  await using nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  const all = await Promise.all(Array.from({ length: 10 }, (_, n) => document(`${nodes.through(n).url}/oauth/keys`)));
  expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(1);
  const { body } = await nodes.one.admin.get("/v1/events?instance=true&types=signing_key.added");
  expect(body.events.map(({ objectId }: { objectId: string }) => objectId).sort()).toEqual(["ES256", "RS256"]);
});

test.each(["https://id.example/path", "http://id.example"])(
  "with %s as PUBLIC_URL there is no provider",
  async (publicUrl) => {
    await using other = await startPostern({ publicUrl });
    expect((await fetch(`${other.url}/.well-known/openid-configuration`)).status).toBe(404);
  },
);
