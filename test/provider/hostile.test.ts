import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { application, basic, codeFor, exchange, issuerOf, type Person, post } from "./application.ts";

let postern: Postern;
let issuer: string;
let person: Person;
beforeAll(async () => {
  postern = await startPostern();
  issuer = issuerOf(postern);
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const userinfo = async (token: string) =>
  (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status;

test("the jti of a token is no token: applications write it into their logs", async () => {
  const jwt = await application(postern.admin, { accessTokenType: "OIDC_TOKEN_TYPE_JWT" });
  const { body } = await exchange(issuer, jwt, (await codeFor(issuer, jwt, person)).code);
  const { jti = "" } = decodeJwt(body.access_token);
  expect([jti.length, await userinfo(jti)]).toEqual([24, 401]);
  expect((await post(issuer, "/oauth/introspect", { token: jti }, basic(jwt))).body).toEqual({ active: false });
  expect((await post(issuer, "/oauth/revoke", { token: jti }, basic(jwt))).status).toBe(200);
  expect(await userinfo(body.access_token)).toBe(200);
});
