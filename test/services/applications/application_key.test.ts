import { afterAll, beforeAll, expect, test } from "vitest";
import { unique } from "../../events/log_of.ts";
import { newJwk } from "../../fixture/jwk.ts";
import { type Answer, type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
let projectId: string;
beforeAll(async () => {
  postern = await sharedPostern();
  projectId = done(await postern.admin.post("/v1/projects", { name: "Shop" })).projectId;
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const refused = ({ status, body }: Answer) => [
  status,
  body.details.find(({ reason }: { reason?: string }) => reason !== undefined).reason,
];
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** A new application that signs with a key, at its path. */
async function signing(): Promise<string> {
  const settings = {
    authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT",
    redirectUris: ["https://shop.example/cb"],
  };
  const path = `/v1/projects/${projectId}/applications`;
  return `${path}/${done(await postern.admin.post(`${path}/oidc`, { name: unique("App"), ...settings })).appId}`;
}

const add = (path: string, key: object) => postern.admin.post(`${path}/keys`, key);
const keysOf = async (path: string) => done(await postern.admin.get(`${path}/keys`)).keys;
const problemsOf = async (path: string) =>
  done(await postern.admin.get(path)).application.complianceProblems.map(({ key }: { key: string }) => key);

test("an application that signs with a key is compliant once it has one, and no longer when it is removed", async () => {
  const path = await signing();
  expect(await problemsOf(path)).toEqual(["PRIVATE_KEY_JWT_WITHOUT_KEY"]);
  const { keyId, details, kid } = done(await add(path, { publicKey: newJwk("one") }));
  expect([kid, details.sequence]).toEqual(["one", "2"]);
  expect(await problemsOf(path)).toEqual([]);
  const listed = done(await postern.admin.get(`/v1/projects/${projectId}/applications`)).applications;
  expect(listed.find(({ id }: { id: string }) => path.endsWith(id)).noneCompliant).toBe(false);
  expect(done(await postern.admin.call("PATCH", `${path}/oidc`, { devMode: true })).complianceProblems).toEqual([]);
  expect(done(await postern.admin.delete(`${path}/keys/${keyId}`)).details.sequence).toBe("4");
  expect(await problemsOf(path)).toEqual(["PRIVATE_KEY_JWT_WITHOUT_KEY"]);
  expect(refused(await postern.admin.delete(`${path}/keys/${keyId}`))).toEqual([404, "APPLICATION_KEY_NOT_FOUND"]);
});

test("keys are listed by age, without what a browser adds", async () => {
  const path = await signing();
  const [first, second] = [newJwk("first"), newJwk()];
  done(await add(path, { publicKey: { ...first, ext: true, key_ops: ["verify"] } }));
  const { kid } = done(await add(path, { publicKey: { ...second, alg: "ES256", use: "sig" } }));
  expect((await keysOf(path)).map(({ publicKey }: { publicKey: object }) => publicKey)).toEqual([
    { ...first, key_ops: ["verify"] },
    { ...second, kid, alg: "ES256", use: "sig", key_ops: ["verify"] },
  ]);
  expect(kid).toMatch(/^[A-Za-z0-9_-]{43}$/);
});

test("of a key that is added many times at once one is there", async () => {
  const path = await signing();
  const publicKey = newJwk();
  const answers = await Promise.all(Array.from({ length: 6 }, () => add(path, { publicKey })));
  const refusals = answers.filter(({ status }) => status !== 200).map(refused);
  expect(refusals).toEqual(Array(5).fill([409, "APPLICATION_KEY_EXISTS"]));
  expect(await keysOf(path)).toHaveLength(1);
});

test("of keys beyond the limit that come at once none is added", async () => {
  const path = await signing();
  for (let added = 0; added < 18; added++) done(await add(path, { publicKey: newJwk() }));
  const answers = await Promise.all(Array.from({ length: 5 }, () => add(path, { publicKey: newJwk() })));
  expect(answers.filter(({ status }) => status !== 200).map(refused)).toEqual(
    Array(3).fill([400, "APPLICATION_KEY_LIMIT"]),
  );
  expect(await keysOf(path)).toHaveLength(20);
});

test("keys go with their application", async () => {
  const path = await signing();
  done(await add(path, { jwksUri: "https://shop.example/jwks.json" }));
  expect(await keysOf(path)).toMatchObject([{ jwksUri: "https://shop.example/jwks.json" }]);
  done(await postern.admin.delete(path));
  expect(refused(await postern.admin.get(`${path}/keys`))).toEqual([404, "APPLICATION_NOT_FOUND"]);
  expect(refused(await add(path, { publicKey: newJwk() }))).toEqual([404, "APPLICATION_NOT_FOUND"]);
});
