import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, machine, type Postern, sharedPostern } from "../harness.ts";
import { requestHttp2 } from "../wire/http2.ts";
import { sendBytes } from "../wire/tcp.ts";

let postern: Postern;
let stranger: { readonly userId: string; readonly client: Client };

beforeAll(async () => {
  postern = await sharedPostern();
  stranger = await machine(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** Headers by which others have let clients name a caller, a path or a method, with the administrator's values. */
const smuggled = (): Readonly<Record<string, string>> => ({
  "x-postern-caller": postern.adminId,
  "x-postern-user": postern.adminId,
  "x-postern-organization": postern.organizationId,
  "x-user-id": postern.adminId,
  "x-forwarded-user": "admin",
  "x-forwarded-for": "127.0.0.1",
  "x-forwarded-host": "localhost",
  "x-real-ip": "127.0.0.1",
  forwarded: "for=127.0.0.1;by=127.0.0.1",
  "x-authorization": `Bearer ${postern.admin.token}`,
  "proxy-authorization": `Bearer ${postern.admin.token}`,
  "x-access-token": String(postern.admin.token),
  cookie: `authorization=Bearer ${postern.admin.token}; token=${postern.admin.token}`,
  "grpc-metadata-authorization": `Bearer ${postern.admin.token}`,
  "x-original-url": "/v1/organizations",
  "x-rewrite-url": "/v1/organizations",
  "x-http-method-override": "DELETE",
  "x-http-method": "DELETE",
});

const doors = [
  ["REST", "GET", "/v1/users/me", undefined],
  ["Connect", "POST", "/postern.v1.AccountService/GetMe", {}],
] as const;

test.each(doors)("over %s no header but authorization names a caller", async (_, method, path, body) => {
  const nobody = await postern.as().call(method, path, body, smuggled());
  expect([nobody.status, nobody.body.details[0].reason]).toEqual([401, "UNAUTHENTICATED"]);
  const answer = await stranger.client.call(method, path, body, smuggled());
  expect([answer.status, answer.body.user.id]).toEqual([200, stranger.userId]);
  const { headers } = await requestHttp2(postern.url, { ":method": method, ":path": path, ...smuggled() });
  expect(Number(headers[":status"])).not.toBe(200);
});

test("a token in the query or in the body names no caller", async () => {
  const token = String(postern.admin.token);
  for (const name of ["access_token", "authorization", "token"]) {
    const answer = await postern.as().get(`/v1/users/me?${name}=${token}`);
    expect(answer.status, name).toBe(401);
    expect((await postern.as().post("/v1/projects", { name: "a", [name]: token })).status, name).toBe(401);
  }
});

test("of two authorization headers neither is believed, whatever their order", async () => {
  const [one, two] = [`authorization: Bearer ${postern.admin.token}`, `authorization: Bearer ${stranger.client.token}`];
  for (const lines of [
    [one, two],
    [two, one],
    [one, "authorization: "],
    [one, one],
  ]) {
    const request = ["GET /v1/users/me HTTP/1.1", "host: a", ...lines, "connection: close", "", ""].join("\r\n");
    expect(await sendBytes(postern, request)).not.toMatch(/^HTTP\/1.1 200 /);
  }
});
