import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ApplicationService } from "../../../gen/postern/v1/application_pb.ts";
import { UserGrantService } from "../../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../../gen/postern/v1/user_pb.ts";
import { errorText } from "../../../src/messages/catalogue.ts";
import { startServer } from "../../../src/server/server.ts";
import { fixtureOf } from "../../fixture/organization.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { certificateFor } from "../../wire/certificate.ts";
import { grpcTimeout } from "../client.ts";
import { hearsStreams, keepsPromises, newcomer, typeIn } from "../promises.ts";
import { found } from "../toolchains.ts";
import { type Browser, type Page, startChromium } from "./chromium.ts";
import { clientIn, drive } from "./in_page.ts";
import type { Kind } from "./page.ts";
import { bundled, type Site, startSite } from "./site.ts";

const kinds: readonly Kind[] = [
  "connect-web, Connect in JSON",
  "connect-web, Connect in binary",
  "connect-web, Connect by GET",
  "connect-web, gRPC-Web",
  "grpc-web, text",
  "grpc-web, binary",
];

describe.skipIf(!found("chromium"))("in Chromium, from another origin", () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());
  let postern: Postern;
  // The same service with a certificate: a second node on the same database.
  let secured: string;
  let browser: Browser;
  let page: Page;
  let stranger: Site;
  beforeAll(async () => {
    const script = await bundled();
    const site = opened.use(await startSite(script));
    stranger = opened.use(await startSite(script));
    postern = opened.use(
      await startPostern({ corsOrigins: [site.origin], phoneSendsPerUser: 1, messageMaxBytes: 100_000 }),
    );
    const { certFile: tlsCertFile, keyFile: tlsKeyFile } = opened.use(await certificateFor("127.0.0.1"));
    secured = opened.use(await startServer({ ...postern.config, tlsCertFile, tlsKeyFile })).url;
    browser = opened.use(await startChromium());
    page = await browser.open(site.origin);
  });
  const bearer = () => ({ authorization: `Bearer ${postern.admin.token}` });

  const wires = [
    { wire: "over HTTP/1.1", url: () => postern.url },
    { wire: "over TLS and HTTP/2", url: () => secured },
  ];
  describe.each(wires.flatMap((wire) => kinds.map((kind) => ({ ...wire, kind }))))("$kind, $wire", ({ kind, url }) => {
    const tried = () => ({ postern, client: clientIn(page, kind, url()) });
    keepsPromises(tried);
    // The bytes of an XMLHttpRequest are handed over only when all of them are there.
    if (kind !== "grpc-web, binary") hearsStreams(tried);
  });

  test("grpc-web, binary, hears of events when the stream ends, as at its deadline", async () => {
    const client = clientIn(page, "grpc-web, binary", postern.url);
    const { userId, watchEvents } = await newcomer(postern);
    await postern.admin.post(`/v1/users/${userId}:deactivate`);
    const headers = { ...watchEvents.headers, ...grpcTimeout(5000) };
    await using watching = await client.watch({ ...watchEvents, headers });
    const types = async () => (await watching.received()).map(typeIn);
    const ended = { ended: expect.stringContaining("DEADLINE_EXCEEDED") };
    await vi.waitFor(async () => expect(await types()).toEqual(["user.deactivated", ended]), 60_000);
  });

  test("reads go by GET where that is chosen, and calls by both versions of HTTP", async () => {
    const before = page.requests.length;
    const request = { userId: postern.adminId };
    const clientCall = { method: UserService.method.getUser, request, headers: bearer() };
    for (const { url } of wires)
      expect(await clientIn(page, "connect-web, Connect by GET", url()).call(clientCall)).toMatchObject({ code: "OK" });
    const verbs = page.requests.slice(before).map((one) => one.split(" ")[0]);
    expect(new Set(verbs.filter((verb) => verb !== "OPTIONS"))).toEqual(new Set(["GET"]));
    expect(page.protocols).toEqual(new Set(["http/1.1", "h2"]));
  });

  const shown = ["grantViewerByConnect", "grantViewerByGrpcWeb"] as const;
  test.each(shown)("%s: gives a user a role as in the README, and tells whether that was news", async (name) => {
    const { newUser, projectId } = await fixtureOf(postern, postern.organizationId);
    const wanted = { baseUrl: postern.url, token: postern.admin.token ?? "", userId: await newUser(), projectId };
    expect(await drive(page, name, wanted)).toBe(true);
    const { body } = await postern.admin.get(`/v1/users/${wanted.userId}/grants`);
    expect(body.userGrants).toMatchObject([{ projectId, roleKeys: ["viewer"] }]);
    expect(await drive(page, name, wanted)).toBe(false);
    await expect(drive(page, name, { ...wanted, userId: "nobody" })).rejects.toThrow(
      errorText("USER_NOT_FOUND", { id: "nobody" }),
    );
  });

  test("the browser asks before it calls, and remembers the answer", async () => {
    const { userId } = await signedUp(postern);
    const path = `/v1/users/${userId}/phone`;
    const put = (phone: string) => ({
      method: "POST",
      headers: { ...bearer(), "content-type": "application/json" },
      body: JSON.stringify({ phone, returnCode: {} }),
    });
    expect(await drive(page, "fetch", postern.url + path, put("+41446681800"))).toMatchObject({ status: 200 });
    expect(await drive(page, "fetch", postern.url + path, put("+41446681801"))).toMatchObject({ status: 200 });
    const verbs = page.requests.filter((one) => one.endsWith(path)).map((one) => one.split(" ")[0]);
    expect(verbs.sort()).toEqual(["OPTIONS", "POST", "POST"]);
  });

  test("the page reads the headers that tell why it was refused", async () => {
    const { userId } = await signedUp(postern);
    const path = `/v1/users/${userId}/phone`;
    const body = JSON.stringify({ phone: "+41446681800", sendCode: {} });
    const headers = { ...bearer(), "content-type": "application/json" };
    await drive(page, "fetch", postern.url + path, { method: "POST", headers, body });
    const refusals: [status: number, header: string, path: string, init: RequestInit][] = [
      [429, "retry-after", `${path}:resend`, { method: "POST", headers, body: '{"sendCode":{}}' }],
      [401, "www-authenticate", "/v1/users/me", {}],
      [405, "allow", "/v1/users/me", { method: "DELETE", headers: bearer() }],
    ];
    for (const [status, header, at, init] of refusals)
      expect(await drive(page, "fetch", postern.url + at, init)).toMatchObject({
        ...{ status, headers: { [header]: expect.stringMatching(/./), "x-request-id": expect.stringMatching(/./) } },
      });
  });

  test.each(kinds)("%s, is told when its message is too large", async (kind) => {
    const request = { projectId: "any", name: "x".repeat(3_000_000) };
    const clientCall = { method: ApplicationService.method.createOidcApplication, request, headers: bearer() };
    for (const { url } of wires)
      expect(await clientIn(page, kind, url()).call(clientCall)).toMatchObject({
        ...{ code: "ResourceExhausted", reason: "BODY_TOO_LARGE" },
      });
  });

  test("a page of another origin is refused by the browser, and nothing is done", async () => {
    const foreign = await browser.open(stranger.origin);
    const { newUser, projectId } = await fixtureOf(postern, postern.organizationId);
    const request = { userId: await newUser(), projectId };
    const { addUserGrant } = UserGrantService.method;
    for (const { url } of wires)
      for (const kind of kinds) {
        const answer = await clientIn(foreign, kind, url()).call({ method: addUserGrant, request, headers: bearer() });
        expect([kind, answer.code, answer.body, answer.details]).toEqual([
          kind,
          expect.not.stringMatching("OK"),
          {},
          [],
        ]);
      }
    const { body } = await postern.admin.get(`/v1/users/${request.userId}/grants`);
    expect(body.userGrants).toEqual([]);
  });

  test("a page of another origin cannot read what any client may ask for", async () => {
    const foreign = await browser.open(stranger.origin);
    const health = `${postern.url}/healthz`;
    await expect(drive(foreign, "fetch", health, {})).rejects.toThrow("Failed to fetch");
    expect(await drive(page, "fetch", health, {})).toMatchObject({ status: 200 });
  });
});
