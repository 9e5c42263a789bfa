import { expect, test } from "vitest";
import { parseTemplate } from "../../src/rest/parser.ts";
import { createRouter } from "../../src/rest/router.ts";

const routes = [
  "GET /v1/users/me",
  "GET /v1/users/{id}",
  "DELETE /v1/users/{id}",
  "POST /v1/users/{id}:lock",
  "POST /v1/users/human",
  "PUT /v1/users/me/password",
  "POST /v1/users/{id}/phone",
  "GET /v1/events",
  "GET /v1/events:watch",
  "GET /v1/files/{path=**}",
  "POST /v1/files/{path=**}:touch",
  "GET /v1/files/own/x",
  "* /v1/any",
];

const router = createRouter<string>();
for (const route of routes) {
  const [method = "", template = ""] = route.split(" ");
  router.add(method, { template: parseTemplate(template), target: route });
}

const rows: readonly [request: string, want: string][] = [
  ["GET /v1/users/me", "GET /v1/users/me"],
  ["GET /v1/users/ada", "GET /v1/users/{id}"],
  ["GET /v1/users/%6De", "GET /v1/users/me"],
  ["HEAD /v1/users/ada", "GET /v1/users/{id}"],
  ["DELETE /v1/users/me", "wrong method: GET, HEAD"],
  ["POST /v1/users/ada:lock", "POST /v1/users/{id}:lock"],
  ["POST /v1/users/me:lock", "POST /v1/users/{id}:lock"],
  ["POST /v1/users/a%3Ab:lock", "POST /v1/users/{id}:lock"],
  ["GET /v1/users/a%3Ab", "GET /v1/users/{id}"],
  ["GET /v1/users/a:b", "GET /v1/users/{id}"],
  ["DELETE /v1/users/a:b:c", "DELETE /v1/users/{id}"],
  ["POST /v1/users/a:b:lock", "POST /v1/users/{id}:lock"],
  ["POST /v1/users/a:b/phone", "POST /v1/users/{id}/phone"],
  ["PUT /v1/users/a:b", "wrong method: GET, HEAD, DELETE"],
  ["GET /v1/users/:lock", "GET /v1/users/{id}"],
  ["GET /v1/users/a:", "GET /v1/users/{id}"],
  ["GET /v1/files/a/b:c", "GET /v1/files/{path=**}"],
  ["GET /v1/users/ada:lock", "wrong method: POST"],
  ["POST /v1/users/me/phone", "POST /v1/users/{id}/phone"],
  ["GET /v1/users/human", "wrong method: POST"],
  ["GET /v1/users/a%2Fb", "GET /v1/users/{id}"],
  ["GET /v1/users", "unknown"],
  ["GET /v1/users/", "unknown"],
  ["GET /v1/users//phone", "unknown"],
  ["GET /v1/users/ada/", "unknown"],
  ["GET //v1/users/ada", "unknown"],
  ["GET /v1/events", "GET /v1/events"],
  ["GET /v1/events:watch", "GET /v1/events:watch"],
  ["GET /v1/events:other", "unknown"],
  ["GET /v1/files", "GET /v1/files/{path=**}"],
  ["GET /v1/files/a/b/c", "GET /v1/files/{path=**}"],
  ["GET /v1/files/own/x", "GET /v1/files/own/x"],
  ["GET /v1/files/own/y", "GET /v1/files/{path=**}"],
  ["POST /v1/files/a/b:touch", "POST /v1/files/{path=**}:touch"],
  ["OPTIONS /v1/any", "* /v1/any"],
  ["GET /v1/users/%", "malformed"],
  ["GET /v1/users/%FF", "malformed"],
  ["GET /v1/users/a:%zz", "malformed"],
];

for (const [request, want] of rows) {
  test(`${request} finds ${want}`, () => {
    const [method = "", path = ""] = request.split(" ");
    const match = router.match(method, path);
    const found = match.kind === "found" ? match.route.target : match.kind;
    expect(match.kind === "wrong method" ? `${found}: ${match.allow.join(", ")}` : found).toBe(want);
  });
}

test.each([
  ["GET", "/v1/users/a:"],
  ["DELETE", "/v1/users/:"],
  ["DELETE", "/v1/users/a::"],
  ["GET", "/v1/users/a:b"],
])("%s %s takes the colon for a part of the value", (method, path) => {
  const match = router.match(method, path);
  expect(match).toMatchObject({ kind: "found", segments: path.slice(1).split("/") });
});

test("a second route of the same shape is not added, and the first one is named", () => {
  const template = parseTemplate("/v1/users/{other}");
  expect(router.add("GET", { template, target: "late" })).toBe("GET /v1/users/{id}");
});

test("a literal that is spelled like a path with a verb is not added either, nor the other way round", () => {
  const literal = parseTemplate("/v1/events%3Awatch");
  expect(router.add("GET", { template: literal, target: "late" })).toBe("GET /v1/events:watch");
  const other = createRouter<string>();
  other.add("GET", { template: literal, target: "first" });
  expect(other.add("GET", { template: parseTemplate("/v1/events:watch"), target: "late" })).toBe("first");
  expect(other.add("POST", { template: parseTemplate("/v1/events:watch"), target: "another" })).toBeUndefined();
});
