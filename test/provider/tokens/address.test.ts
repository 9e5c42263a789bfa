import { decodeJwt, type JWTPayload } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { application, codeFor, exchange, issuerOf, type Person } from "../application.ts";

let postern: Postern;
let issuer: string;
let person: Person;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  person = await signedUp(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const change = async (human: object) => {
  const { status } = await postern.admin.call("PATCH", `/v1/users/${person.userId}/human`, human);
  expect(status).toBe(200);
};
const move = (address: object | null) => change({ address });

/** A claim in userinfo, and in the ID token of an application that wants the claims there. */
async function claims(scope: string, claim: string = "address") {
  const app = await application(postern.admin, { idTokenUserinfoAssertion: true });
  const { body } = await exchange(issuer, app, (await codeFor(issuer, app, person, { scope })).code);
  const authorization = `Bearer ${body.access_token}`;
  const info = (await (await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization } })).json()) as JWTPayload;
  return [info, decodeJwt(body.id_token)].map((one) => one[claim]);
}

test("the scope address gives the postal address, by the names of OpenID Connect, and no other scope does", async () => {
  expect(await claims("openid address")).toEqual([undefined, undefined]);
  await move({ streetAddress: "Rue 1", locality: "Genève", postalCode: "1201", country: "Suisse" });
  const expected = { street_address: "Rue 1", locality: "Genève", postal_code: "1201", country: "Suisse" };
  expect(await claims("openid address")).toEqual([expected, expected]);
  expect(await claims("openid profile")).toEqual([undefined, undefined]);
  await move({ streetAddress: null, locality: null, postalCode: null, region: "GE" });
  const fewer = { region: "GE", country: "Suisse" };
  expect(await claims("openid address")).toEqual([fewer, fewer]);
  await move(null);
  expect(await claims("openid address")).toEqual([undefined, undefined]);
  const described = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  expect(described).toMatchObject({
    scopes_supported: expect.arrayContaining(["address"]),
    claims_supported: expect.arrayContaining(["address"]),
  });
});

test("the scopes email and phone each give their claim and whether it is proven, and no other scope does", async () => {
  const phone = "+41446681800";
  const { status } = await postern.admin.post(`/v1/users/${person.userId}/phone`, { phone, isVerified: true });
  expect(status).toBe(200);
  const twice = (value: unknown) => [value, value];
  for (const [claim, scope, value] of [
    ["email", "email", `${person.username}@example.com`],
    ["email_verified", "email", expect.any(Boolean)],
    ["phone_number", "phone", phone],
    ["phone_number_verified", "phone", true],
  ] as const) {
    expect([claim, await claims(`openid ${scope}`, claim)]).toEqual([claim, twice(value)]);
    const others = ["profile", "email", "phone", "address"].filter((other) => other !== scope).join(" ");
    expect([claim, await claims(`openid ${others}`, claim)]).toEqual([claim, twice(undefined)]);
  }
});

test("the scope profile gives the language as locale while there is one, and no other scope does", async () => {
  expect(await claims("openid profile", "locale")).toEqual([undefined, undefined]);
  await change({ language: "de-CH" });
  expect(await claims("openid profile", "locale")).toEqual(["de-CH", "de-CH"]);
  expect(await claims("openid email", "locale")).toEqual([undefined, undefined]);
  await change({ language: "" });
  expect(await claims("openid profile", "locale")).toEqual([undefined, undefined]);
});
