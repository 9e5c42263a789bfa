import type { ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { json } from "../../packages/gateway/src/rpc/protocols/json.ts";
import { localized, refuse } from "../../src/errors.ts";
import { errorText, text } from "../../src/messages/catalogue.ts";
import type { Reason } from "../../src/reasons.ts";

const problem = (error: ConnectError) => {
  const { status, headers, body } = json.protocol.refuse(error, { ...json, header: undefined, trailer: undefined });
  return { status, headers, body: String(body) };
};

const statuses: readonly [reason: Reason, status: number, code: number][] = [
  ["CANCELLED", 499, 1],
  ["VALIDATION_FAILED", 400, 3],
  ["DEADLINE_EXCEEDED", 504, 4],
  ["USER_NOT_FOUND", 404, 5],
  ["LOGIN_NAME_TAKEN", 409, 6],
  ["PERMISSION_DENIED", 403, 7],
  ["OVERLOADED", 429, 8],
  ["PHONE_UNCHANGED", 400, 9],
  ["CONFLICT", 409, 10],
  ["UNIMPLEMENTED", 501, 12],
  ["INTERNAL", 500, 13],
  ["UNAVAILABLE", 503, 14],
  ["UNAUTHENTICATED", 401, 16],
  ["METHOD_NOT_ALLOWED", 405, 12],
  ["BODY_TOO_LARGE", 413, 8],
  ["UNSUPPORTED_CONTENT_TYPE", 415, 12],
  ["UNSUPPORTED_ENCODING", 415, 12],
  ["HEADERS_TOO_LARGE", 431, 8],
];

for (const [reason, status, code] of statuses) {
  test(`${reason} is ${status} with code ${code}`, () => {
    const written = problem(refuse.because(reason));
    expect([written.status, JSON.parse(written.body).code]).toEqual([status, code]);
  });
}

test("details are written with their type, in proto3 JSON", () => {
  const error = refuse.because("USER_NOT_FOUND", {
    params: { id: "42" },
    resource: { noun: "user", id: "42" },
    violations: [{ field: "userId", text: "FIELD_REQUIRED" }],
    retrySeconds: 1.5,
  });
  const { details, message } = JSON.parse(problem(localized(error, "de")).body);
  expect(message).toBe(error.rawMessage);
  const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;
  const localizedMessage = { locale: "de", message: text("FIELD_REQUIRED", "de") };
  const violation = { field: "userId", description: errorText("FIELD_REQUIRED"), reason: "", localizedMessage };
  expect(details).toEqual([
    { "@type": type("ErrorInfo"), reason: "USER_NOT_FOUND", domain: "postern", metadata: { id: "42" } },
    { "@type": type("BadRequest"), fieldViolations: [violation] },
    { "@type": type("ResourceInfo"), resourceType: "user", resourceName: "42", owner: "", description: "" },
    { "@type": type("RetryInfo"), retryDelay: "1.500s" },
    { "@type": type("LocalizedMessage"), locale: "de", message: expect.any(String) },
  ]);
});

test("retry-after is the delay in whole seconds, rounded up", () => {
  expect(problem(refuse.because("OVERLOADED", { retrySeconds: 2 })).headers).toMatchObject({ "retry-after": "2" });
  expect(problem(refuse.because("OVERLOADED", { retrySeconds: 0.2 })).headers).toMatchObject({ "retry-after": "1" });
});

test("401 carries one constant challenge, whatever was wrong", () => {
  const challenges = (["UNAUTHENTICATED", "TOKEN_INVALID", "SIGN_IN_FAILED"] as const).map(
    (reason) => problem(refuse.because(reason)).headers["www-authenticate"],
  );
  expect(new Set(challenges)).toEqual(new Set(['Bearer realm="postern"']));
});
