import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Document } from "../../packages/gateway/src/services/openapi/document.ts";
import { connect, foreignApplication, refreshing } from "../fixture/connection.ts";
import { type Caller, type Connect, callEveryOperation } from "../fixture/example_calls.ts";
import { callDeliveries, givenUpMail } from "../fixture/given_up.ts";
import { callOperation } from "../fixture/operation_call.ts";
import { type Postern, startPostern } from "../harness.ts";
import { codeTo } from "../services/invitations/invited.ts";
import { broken } from "./schema_check.ts";

const file = join(import.meta.dirname, "../../src/contract/examples.json");

let postern: Postern;
let document: Document;
beforeAll(async () => {
  postern = await startPostern({ publicUrl: "https://identity.example.com" });
  document = (await postern.as().get("/openapi.json")).body;
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const secrets: Readonly<Record<string, string>> = {
  verificationCode: "K7QM4X",
  requestId: "k2v8q5zr4m7x1c9d",
  nextPageToken: "eyJhZnRlciI6WyIwNmgyIl19",
  position: "1042.7",
  after: "1040.3",
  code: "492039",
  totpCode: "287082",
  codes: "K7QM4-XB2CD",
  secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
  ...Object.fromEntries(
    [
      ...["pendingToken", "challengeToken", "challenge", "rawId", "clientDataJSON", "attestationObject"],
      ...["authenticatorData", "signature", "userHandle"],
    ].map((name) => [name, "VGhpcyBpcyBhbiBleGFtcGxl"]),
  ),
};

const enrolment =
  "otpauth://totp/identity.example.com:alan?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=identity.example.com";

// An identifier of WebAuthn: 16 random bytes of a credential, 64 of a user.
const random = /^(?:[\w-]{22}|[\w-]{86})$/;

/** Replaces all that differs from run to run: ids by those of an example, in the order in which they appear. */
function steadily(): (value: JsonValue, name?: string) => JsonValue {
  const ids = new Map<string, string>();
  const idOf = (id: string) => {
    const known = ids.get(id) ?? `06h2m9t4cw7xk3qz8vnr${String(ids.size + 1).padStart(4, "0")}`;
    ids.set(id, known);
    return known;
  };
  const text = (value: string, name: string) => {
    if (secrets[name] !== undefined && value !== "") return secrets[name];
    if (name === "id" && random.test(value)) return "VGhpcyBpcyBhbiBleGFtcGxl";
    if (/(expiration|erasure)Date$/i.test(name)) return "2026-11-21T19:34:23.863Z";
    return value
      .replace(/^otpauth:.*$/, enrolment)
      .replace(/\b06[0-9a-z]{22}\b/g, idOf)
      .replace(/\b(p[st]|cs)_\w+/g, "$1_dGhpcyBpcyBhbiBleGFtcGxl")
      .replace(/\b(postern-domain-verification)=\w+/g, "$1=4f1c7e0a9b3d5268f0a1c2d3e4b5a697")
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-11-21T07:34:23.863Z");
  };
  const steady = (value: JsonValue, name = ""): JsonValue => {
    if (typeof value === "string") return text(value, name);
    if (Array.isArray(value)) return value.map((one) => steady(one, name));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, steady(one, key)]));
  };
  return steady;
}

test("every example of the document is a call that succeeds, and has its answer", async () => {
  const steady = steadily();
  const called = { url: postern.url, token: postern.admin.token };
  const examples: Record<string, JsonValue> = {};
  const made = async (operationId: string, request: Record<string, unknown> = {}, caller: Caller = {}) => {
    const answer = await callOperation(called, operationId, { request: request as JsonObject, caller });
    expect(answer.status, `${operationId} ${JSON.stringify(answer.body)}`).toBe(200);
    examples[operationId] ??= { request: steady(request as JsonObject), answer: steady(answer.body) };
    return answer.body;
  };
  const signInAt: Connect = async (application, person) => {
    const app = await foreignApplication(postern, postern.organizationId, { ...application, ...refreshing });
    await connect(postern, { app, person, scope: "openid email offline_access" });
    return app.appId;
  };
  await callEveryOperation(made, signInAt, (email, like) => codeTo(postern, email, { like }));
  const receiver = { organizationId: postern.organizationId, userId: postern.adminId };
  await callDeliveries(made, await givenUpMail(postern.databaseUrl, receiver));
  const sorted = Object.entries(examples).sort(([a], [b]) => (a < b ? -1 : 1));
  await expect(`${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`).toMatchFileSnapshot(file);
});

const operations = () => Object.values(document.paths).flatMap((item) => Object.values(item));

test("every operation has an example of its answer, and of its body", () => {
  for (const { operationId, requestBody, responses } of operations()) {
    const contents = [requestBody?.content, ...Object.values(responses).map((one) => "content" in one && one.content)];
    for (const content of contents.filter((one) => typeof one === "object")) {
      const [body] = Object.values(content);
      expect(body?.example, operationId).toBeDefined();
      expect(broken(document, body?.schema ?? {}, body?.example), operationId).toEqual([]);
    }
  }
});

test("every variable of a path has an example, which follows its rules", () => {
  for (const { operationId, parameters } of operations())
    for (const one of parameters) {
      if (!("in" in one)) continue;
      if (one.in === "path") expect(one.example, `${operationId} ${one.name}`).toBeDefined();
      if (one.example !== undefined) expect(broken(document, one.schema, one.example), one.name).toEqual([]);
    }
});
