import { randomUUID } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { expect } from "vitest";
import { type Answer, machine, type Postern } from "../harness.ts";
import { post } from "./application.ts";

/** A machine with a secret, a key `k1`, and a grant of the role `viewer` in a project with an API application. */
export type GrantedMachine = Readonly<
  Record<"userId" | "clientId" | "clientSecret" | "secretId" | "keyId" | "projectId" | "userGrantId" | "scope", string>
> & { readonly key: CryptoKey; readonly api: { readonly clientId: string; readonly clientSecret: string } };

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** Makes a machine of the administrator's organization that may have tokens for a project. */
export async function grantedMachine({ admin, ...postern }: Postern, settings: object = {}): Promise<GrantedMachine> {
  const { userId } = await machine({ ...postern, admin });
  const { projectId } = done(await admin.post("/v1/projects", { name: `of ${userId}` }));
  done(await admin.post(`/v1/projects/${projectId}/roles`, { key: "viewer" }));
  const api = done(await admin.post(`/v1/projects/${projectId}/applications/api`, { name: "API" }));
  const grant = done(await admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["viewer"] }));
  const { publicKey, privateKey: key } = await generateKeyPair("ES256");
  const { kty, crv, x, y } = await exportJWK(publicKey);
  const added = { publicKey: { kty, crv, x, y, kid: "k1" }, ...settings };
  const { credentialId: keyId } = done(await admin.post(`/v1/users/${userId}/keys`, added));
  const secret = done(await admin.post(`/v1/users/${userId}/secrets`, settings));
  const { clientId, clientSecret, credentialId: secretId } = secret;
  const { userGrantId } = grant;
  const scope = `urn:postern:project:id:${projectId}`;
  return { userId, clientId, clientSecret, secretId, keyId, key, projectId, userGrantId, scope, api };
}

/** Signs an assertion of a machine about itself. */
export function asserted(
  { clientId, key }: Pick<GrantedMachine, "clientId" | "key">,
  issuer: string,
  { claims = {}, header = {}, by = key }: { claims?: object; header?: object; by?: CryptoKey | Uint8Array } = {},
): Promise<string> {
  const at = Math.floor(Date.now() / 1000);
  const all = { iss: clientId, sub: clientId, aud: issuer, iat: at, exp: at + 60, jti: randomUUID(), ...claims };
  return new SignJWT(all).setProtectedHeader({ alg: "ES256", kid: "k1", ...header }).sign(by);
}

export const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** The form of the client credentials grant with an assertion. */
export const withAssertion = (client_assertion: string, more: Readonly<Record<string, string>> = {}) => ({
  ...{ grant_type: "client_credentials", client_assertion, client_assertion_type: assertionType },
  ...more,
});

/** Asks for a token with the secret of a machine. */
export const bySecret = (
  node: string,
  { clientId, clientSecret, scope }: Pick<GrantedMachine, "clientId" | "clientSecret" | "scope">,
  more: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
) =>
  post(
    node,
    "/oauth/token",
    { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret, scope, ...more },
    headers,
  );
