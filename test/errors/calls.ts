import type { Reason } from "../../src/reasons.ts";
import { signedUp } from "../harness.ts";
import { openProbe } from "../probe.ts";
import { frame } from "../wire/frame.ts";
import { connectHttp1 } from "../wire/http1.ts";
import { fresh, grpc, type Row, type Seen } from "./provocation.ts";

const json = (type = "application/json") => ({ "content-type": type });

/** The refusals of a call that do not depend on its content. */
export const callRows = {
  UNAUTHENTICATED: { by: ({ germanAs }) => germanAs().get("/v1/users/me") },
  TOKEN_INVALID: { by: ({ germanAs }) => germanAs("pt_none").get("/v1/users/me") },
  TOKEN_IS_JWT: { by: ({ germanAs }) => germanAs("eyJhbGciOiJSUzI1NiJ9.e30.c2ln").get("/v1/users/me") },
  SIGN_IN_FAILED: { by: ({ germanAs }) => germanAs().post("/v1/sessions", { loginName: "nobody", password: "wrong" }) },
  PERMISSION_DENIED: {
    by: async ({ postern, germanAs }) =>
      germanAs((await signedUp(postern)).client.token).post("/v1/organizations", { name: fresh("organization") }),
  },
  VALIDATION_FAILED: { by: ({ german }) => german.post("/v1/projects"), details: ["BadRequest"] },
  MALFORMED_BODY: { by: ({ german }) => german.post("/v1/projects", "{") },
  PAGE_TOKEN_INVALID: { by: ({ german }) => german.get("/v1/projects?pageToken=x"), details: ["BadRequest"] },
  POSITION_INVALID: { by: ({ german }) => german.get("/v1/events:watch?after=x"), details: ["BadRequest"] },
  POSITION_LOST: { by: ({ german }) => german.get("/v1/events:watch?after=1.0123456789abcdef") },
  IDEMPOTENCY_KEY_REUSED: {
    async by({ german }) {
      const key = { "idempotency-key": fresh("key") };
      await german.post("/v1/projects", { name: fresh("project") }, key);
      return german.post("/v1/projects", { name: fresh("project") }, key);
    },
  },
  CODE_EXPIRED: {
    async by({ postern, german, fixture }) {
      const { userId, code } = await fixture.newPhone();
      await using probe = openProbe(postern.databaseUrl);
      await probe.sql`update phone_codes set expiration_date = now() where user_id = ${userId}`;
      return german.post(`/v1/users/${userId}/phone:verify`, { verificationCode: code });
    },
  },
  UNKNOWN_PATH: { by: ({ german }) => german.get("/v1/nowhere") },
  METHOD_NOT_ALLOWED: { by: ({ german }) => german.call("PATCH", "/v1/users/me"), status: 405 },
  UNSUPPORTED_CONTENT_TYPE: {
    by: ({ german }) => german.call("POST", "/v1/projects", "{}", json("text/plain")),
    status: 415,
  },
  UNSUPPORTED_ENCODING: {
    by: ({ german }) => german.call("POST", "/v1/projects", "{}", { "content-encoding": "snappy" }),
    status: 415,
  },
  ENCODING_MISSING: {
    by: ({ postern: { url }, admin: { token = "" } }) =>
      grpc(url, "/postern.v1.AccountService/GetMe", { token, body: Buffer.of(1, 0, 0, 0, 0) }),
    status: 200,
  },
  MALFORMED_REQUEST: { by: ({ german }) => german.get("/v1/users/%zz") },
  HEADERS_TOO_LARGE: {
    by: ({ german }) =>
      german.get("/v1/users/me", Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`x-header-${n}`, "x"]))),
    status: 431,
  },
  BODY_TOO_LARGE: {
    by: ({ german, postern }) => german.post("/v1/projects", { name: "x".repeat(postern.config.messageMaxBytes) }),
    status: 413,
  },
  UNIMPLEMENTED: {
    by: ({ postern: { url }, admin: { token = "" } }) => grpc(url, "/postern.v1.AccountService/GetMe", { token }),
    status: 200,
  },
  SERVICE_NOT_FOUND: {
    by: ({ postern: { url } }) => grpc(url, "/grpc.health.v1.Health/Check", { body: frame("\n\u0004none") }),
    details: ["ResourceInfo"],
    status: 200,
  },
  HTTP_VERSION_TOO_OLD: { by: ({ postern: { url } }) => overHttp1(url), status: 505 },
} as const satisfies Partial<Record<Reason, Row>>;

/** gRPC on a connection of HTTP/1.1. */
async function overHttp1(url: string): Promise<Seen> {
  using client = connectHttp1(url);
  const headers = { "content-type": "application/grpc", "accept-language": "de" };
  const path = "/postern.v1.AccountService/GetMe";
  const { status, body } = await client.send({ method: "POST", path, headers, body: frame("") });
  return { status, body: JSON.parse(body.toString()) };
}
