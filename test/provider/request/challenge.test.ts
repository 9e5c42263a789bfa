import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { application, codeFor, exchange, issuerOf } from "../application.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const challenged = async (request: RequestInit) => {
  const { status, headers } = await fetch(`${issuer}/oauth/userinfo`, request);
  return [status, headers.get("www-authenticate")?.replace(/, error_description=.*/, "")];
};

// RFC 6750, 3 and 3.1.
test("userinfo asks for a token without naming an error, and names the error of every token that it refuses", async () => {
  const plain = 'Bearer realm="postern", DPoP realm="postern", algs="ES256 EdDSA Ed25519"';
  expect(await challenged({})).toEqual([401, plain]);
  const unknown = { authorization: "Bearer unknown" };
  expect(await challenged({ headers: unknown })).toEqual([401, 'Bearer realm="postern", error="invalid_token"']);
  const body = new URLSearchParams({ access_token: "unknown" });
  expect(await challenged({ method: "POST", body, headers: unknown })).toEqual([
    400,
    'Bearer realm="postern", error="invalid_request"',
  ]);
  const [app, person] = [await application(postern.admin), await signedUp(postern)];
  const { code } = await codeFor(issuer, app, person, { scope: "profile" });
  const { access_token } = (await exchange(issuer, app, code)).body;
  expect(await challenged({ headers: { authorization: `Bearer ${access_token}` } })).toEqual([
    403,
    'Bearer realm="postern", error="insufficient_scope"',
  ]);
});
