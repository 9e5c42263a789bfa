import { join } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Document } from "../../packages/gateway/src/services/openapi/document.ts";
import { describeAll } from "../../src/contract/describe.ts";
import { services } from "../../src/runtime/modules.ts";
import { connect, foreignApplication, refreshing } from "../fixture/connection.ts";
import { type Caller, callEveryOperation } from "../fixture/example_calls.ts";
import { restRequest } from "../fixture/rest_call.ts";
import { type Answer, type Postern, startPostern } from "../harness.ts";
import { broken } from "./schema_check.ts";

const file = join(import.meta.dirname, "../../src/contract/examples.json");

let postern: Postern;
let document: Document;
beforeAll(async () => {
  postern = await startPostern({ publicUrl: "https://identity.example.com" });
  document = (await postern.as().get("/openapi.json")).body;
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const rpcs = new Map(describeAll(services).map((rpc) => [`${rpc.method.parent.name}_${rpc.method.name}`, rpc.method]));

/** Calls an operation by its id, at the path that its number stands for. */
async function callById(operationId: string, request: JsonObject, caller: Caller): Promise<Answer> {
  const [, name = "", number = "1"] = /^([A-Za-z]+_[A-Za-z]+)(?:_(\d+))?$/.exec(operationId) ?? [];
  const method = rpcs.get(name);
  if (!method) throw new Error(`there is no operation ${operationId}`);
  const { verb, path, body } = restRequest(method, request, Number(number) - 1);
  if (method.methodKind !== "unary") return firstOf(path);
  const { token = postern.admin.token, organizationId } = caller;
  return postern.as(token).call(verb, path, body, organizationId ? { "x-service-orgid": organizationId } : {});
}

/** The first message of a stream. */
async function firstOf(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${postern.admin.token}` };
  const abort = new AbortController();
  const response = await fetch(postern.url + path, { headers, signal: abort.signal });
  let text = "";
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if (text.includes("\n")) break;
  }
  abort.abort();
  return { status: response.status, headers: response.headers, body: JSON.parse(text.split("\n")[0] ?? "") };
}

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
  uri: "otpauth://totp/identity.example.com:alan?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=identity.example.com",
  ...Object.fromEntries(
    [
      ...["pendingToken", "challengeToken", "challenge", "rawId", "clientDataJSON", "attestationObject"],
      ...["authenticatorData", "signature", "userHandle"],
    ].map((name) => [name, "VGhpcyBpcyBhbiBleGFtcGxl"]),
  ),
};

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
    if (/expirationDate$/i.test(name)) return "2026-11-21T19:34:23.863Z";
    return value
      .replace(/\b06[0-9a-z]{22}\b/g, idOf)
      .replace(/\b(p[st]|cs)_\w+/g, "$1_dGhpcyBpcyBhbiBleGFtcGxl")
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
  const examples: Record<string, JsonValue> = {};
  const made = async (operationId: string, request: Record<string, unknown> = {}, caller: Caller = {}) => {
    const answer = await callById(operationId, request as JsonObject, caller);
    expect(answer.status, `${operationId} ${JSON.stringify(answer.body)}`).toBe(200);
    examples[operationId] ??= { request: steady(request as JsonObject), answer: steady(answer.body) };
    return answer.body;
  };
  await callEveryOperation(made, async (application, person) => {
    const app = await foreignApplication(postern, postern.organizationId, { ...application, ...refreshing });
    await connect(postern, { app, person, scope: "openid email offline_access" });
    return app.appId;
  });
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
