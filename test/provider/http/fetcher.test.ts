import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { expect, test } from "vitest";
import { addressCheck, outwardFetch } from "../../../src/provider/http/fetcher.ts";
import { signedUp, startPostern } from "../../harness.ts";
import { application, codeFor, issuerOf, post, verifier } from "../application.ts";
import { loopback, serve } from "../https_server.ts";

test("private, link-local and special addresses are not public, however they are written", () => {
  const isAllowed = addressCheck([]);
  const refused = [
    ...[
      "127.0.0.1",
      "10.1.2.3",
      "172.16.0.1",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "0.0.0.0",
      "255.255.255.255",
    ],
    ...[
      "::1",
      "::",
      "fe80::1",
      "fc00::1",
      "fd12::1",
      "::ffff:127.0.0.1",
      "::ffff:8.8.8.8",
      "64:ff9b::7f00:1",
      "2002:7f00:1::",
    ],
    ...["2001:db8::1", "ff02::1", "localhost", ""],
  ];
  expect(refused.filter(isAllowed)).toEqual([]);
  expect(["8.8.8.8", "2606:4700::1111", "172.32.0.1"].filter(isAllowed).length).toBe(3);
  expect(["127.0.0.1", "::1"].every(addressCheck(loopback))).toBe(true);
});

test("a name of a private address, a literal one, http, redirects and large answers are refused", async () => {
  await using server = await serve((request, response) => {
    if (request.url === "/redirect") response.writeHead(302, { location: "/keys" }).end();
    else response.end(request.url === "/large" ? "a".repeat(70_000) : "{}");
  });
  const { outgoingCaFile } = server;
  const open = outwardFetch({ outgoingPrivateNetworks: loopback, outgoingCaFile });
  const closed = outwardFetch({ outgoingPrivateNetworks: [], outgoingCaFile });
  expect(await open(`${server.url}/keys`)).toBe("{}");
  for (const url of [
    server.url,
    server.url.replace("localhost", "127.0.0.1"),
    "https://[::1]/",
    "https://169.254.169.254/",
  ])
    await expect(closed(url)).rejects.toThrow("the address is not public");
  await expect(open("http://localhost/")).rejects.toThrow("only https is called");
  await expect(open(`${server.url}/redirect`)).rejects.toThrow("status 302");
  await expect(open(`${server.url}/large`)).rejects.toThrow("larger than 65536 bytes");
  await expect(outwardFetch({ outgoingPrivateNetworks: loopback, outgoingCaFile: "" })(server.url)).rejects.toThrow();
});

test("a server that never ends its answer is left", async () => {
  await using server = await serve((_request, response) => void response.write("{"));
  const open = outwardFetch({ outgoingPrivateNetworks: loopback, outgoingCaFile: server.outgoingCaFile });
  await expect(open(server.url)).rejects.toThrow(/aborted|timeout/i);
});

test("an application authenticates by a key at its jwksUri", async () => {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const keys = [{ ...(await exportJWK(publicKey)), kid: "k1", use: "sig" }, { kty: "oct", k: "AAAA", kid: "k2" }, 7];
  let reads = 0;
  await using server = await serve((_request, response) => {
    reads += 1;
    response.end(JSON.stringify({ keys }));
  });
  const { outgoingCaFile } = server;
  await using postern = await startPostern({ outgoingPrivateNetworks: loopback, outgoingCaFile });
  const [issuer, person] = [issuerOf(postern), await signedUp(postern)];
  const app = await application(postern.admin, { authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" });
  const path = `/v1/projects/${app.projectId}/applications/${app.appId}/keys`;
  expect((await postern.admin.post(path, { jwksUri: `${server.url}/keys` })).status).toBe(200);
  const exchanged = async (jti: string, kid: string) => {
    const { code } = await codeFor(issuer, app, person);
    const claims = { iss: app.clientId, sub: app.clientId, aud: issuer, jti, exp: Date.now() / 1000 + 60 };
    const client_assertion = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid }).sign(privateKey);
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: verifier };
    return (await post(issuer, "/oauth/token", { ...form, client_assertion_type, client_assertion })).status;
  };
  expect([await exchanged("j1", "k1"), await exchanged("j2", "k1"), await exchanged("j3", "k9")]).toEqual([
    200, 200, 401,
  ]);
  expect(reads).toBe(1);
});
