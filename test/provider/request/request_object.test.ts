import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, sharedPostern } from "../../harness.ts";
import { type Application, answerIn, application, authorizeUrl, issuerOf } from "../application.ts";
import { hiddenIn, openBrowser } from "../browser.ts";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const objectOf = (claims: object) => `${part({ alg: "none" })}.${part(claims)}.`;
const open = (more: Record<string, string | undefined>, after = "") =>
  openBrowser(issuer).open(authorizeUrl(issuer, app, more) + after);

// OpenID Connect Core 1.0, 6.1: what stands in the object need not stand beside it.
test("the refusal of a request object goes back in the mode that the object names, with its state", async () => {
  const { status, text } = await open({
    state: undefined,
    request: objectOf({ state: "s", response_mode: "form_post" }),
  });
  expect([status, text]).toEqual([200, expect.stringContaining(`action="${app.redirectUri}"`)]);
  expect(hiddenIn(text)).toMatchObject({ error: "request_not_supported", state: "s", iss: issuer });
});

test("a state beside a request object is the one that comes back, and one that is there twice is in no response", async () => {
  const request = objectOf({ state: "inside" });
  expect(answerIn(await open({ state: "beside", request }))).toMatchObject({
    error: "request_not_supported",
    state: "beside",
  });
  expect(answerIn(await open({ request }, "&state=2"))).not.toHaveProperty("state");
});

test.each([
  ["no JWT", "x"],
  ["a JWT of five parts", "a.b.c.d.e"],
  ["a JWT that holds no object", `${part({ alg: "none" })}.${Buffer.from("1").toString("base64url")}.`],
  ["a state that is no text", objectOf({ state: { a: 1 }, response_mode: 7 })],
  ["a state with a NUL", objectOf({ state: "\0" })],
  ["a state that is too long", objectOf({ state: "s".repeat(2_001) })],
])("the refusal of a request object that is %s goes back without a state", async (_, request) => {
  const shown = await open({ state: undefined, request });
  expect(shown.status).toBe(303);
  expect(answerIn(shown)).toEqual({
    error: "request_not_supported",
    error_description: expect.any(String),
    iss: issuer,
  });
});

test("a request object leads to no place, and to no client, that the query does not name", async () => {
  const request = objectOf({ redirect_uri: app.redirectUri, client_id: app.clientId });
  expect((await open({ redirect_uri: undefined, request })).status).toBe(400);
  expect((await open({ client_id: undefined, request })).status).toBe(400);
});
