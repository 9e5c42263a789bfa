import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import type { OperationObject, Schema } from "../../packages/gateway/src/services/openapi/document.ts";
import { openapi } from "../../packages/gateway/src/services/openapi/openapi.ts";
import { apiOptions } from "../../src/contract/api.ts";
import { describeAll } from "../../src/contract/describe.ts";
import { reasons } from "../../src/reasons.ts";
import { services } from "../../src/runtime/modules.ts";

const rpcs = describeAll(services);
const document = await openapi(apiOptions(rpcs));
const { schemas } = document.components;

const all = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

function at(path: string, method: string): OperationObject {
  const found = document.paths[path]?.[method];
  if (!found) throw new Error(`there is no ${method} ${path}`);
  return found;
}

function refsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => (key === "$ref" ? [String(one)] : refsIn(one)));
}

const named = ({ parameters }: OperationObject) =>
  parameters.map((one) => ("$ref" in one ? one.$ref.replace(/.*\//, "") : `${one.in} ${one.name}`));

const bodyOf = (operation: OperationObject): Schema => operation.requestBody?.content["application/json"]?.schema ?? {};

test("the document is what the schema of OpenAPI 3.1 asks for", async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect([valid, errors]).toEqual([true, undefined]);
});

test("every REST path of every rpc is there", () => {
  const rules = rpcs.reduce((sum, { rest }) => sum + rest.length, 0);
  expect(all).toHaveLength(rules);
  expect(new Set(all.map(({ operation }) => operation["x-rpc"]))).toEqual(new Set(rpcs.map(({ path }) => path)));
  expect(new Set(all.map(({ operation }) => operation.operationId)).size).toBe(rules);
});

test("every reference leads somewhere", () => {
  for (const ref of new Set(refsIn(document))) {
    const [, , kind = "", name = ""] = ref.split("/");
    const group: Readonly<Record<string, unknown>> = document.components[kind as "schemas"];
    expect(group[name], ref).toBeDefined();
  }
});

test("the variables of a path are its path parameters", () => {
  for (const { path, operation } of all) {
    const variables = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => `path ${name}`);
    expect(named(operation).filter((name) => name.startsWith("path"))).toEqual(variables);
    expect(named(operation)).toEqual([...new Set(named(operation))]);
    for (const one of operation.parameters)
      if ("in" in one && one.in === "path") expect(one.schema.minLength, path).toBeGreaterThan(0);
  }
});

test("every operation says what it does, and who may do it", () => {
  for (const { operation } of all) {
    expect(operation.summary, operation.operationId).toMatch(/^[A-Z].*\.$/);
    expect(operation.description, operation.operationId).toMatch(/permission|Anyone|Every caller/);
    expect(operation.description).not.toMatch(/\b[a-z]+_[a-z]+\b(?!`)/);
  }
});

test("an operation with a body says how large it may be", () => {
  const sizes = all.flatMap(({ operation: { operationId, description } }) => {
    const [, bytes] = /The body has at most (\d+) bytes/.exec(description) ?? [];
    return bytes ? [[operationId, Number(bytes)] as const] : [];
  });
  expect(Object.fromEntries(sizes)).toMatchObject({
    ...{ SessionService_CreateSession: 16_384, AccountService_ChangePassword: 24_576 },
    ...{ UserGrantService_AddUserGrants: 1_048_576 },
  });
  const withBody = all.filter(({ operation }) => operation.requestBody);
  expect(sizes.map(([name]) => name)).toEqual(withBody.map(({ operation }) => operation.operationId));
});

test("limits, patterns and remarks of a body are in its schema", () => {
  expect(bodyOf(at("/v1/users/{userId}/phone", "post"))).toMatchObject({
    required: ["phone"],
    unevaluatedProperties: false,
    properties: {
      phone: { type: "string", minLength: 1, maxLength: 200, description: /Blanks around it are dropped/ },
    },
  });
  const app = bodyOf(at("/v1/projects/{projectId}/applications/oidc", "post"));
  expect(Object.keys(app.properties ?? {})).not.toContain("projectId");
  expect(app.properties).toMatchObject({
    redirectUris: { type: "array", maxItems: 100, items: { minLength: 1, maxLength: 1000 } },
    responseTypes: {
      description: expect.stringMatching(/All different\.$/),
      items: { $ref: "#/components/schemas/OidcResponseType" },
    },
    appType: { $ref: "#/components/schemas/OidcAppType", default: "OIDC_APP_TYPE_WEB" },
    devMode: { type: "boolean", default: false },
    clockSkew: {
      type: "string",
      pattern: expect.any(String),
      description: expect.stringMatching(/At least 0s\. At most 3600s\.$/),
    },
  });
  expect(schemas.OidcAppType?.enum).toEqual(["OIDC_APP_TYPE_WEB", "OIDC_APP_TYPE_USER_AGENT", "OIDC_APP_TYPE_NATIVE"]);
  const human = schemas.CreateHumanUserRequest?.properties;
  expect(human).toMatchObject({ userId: { pattern: "^[A-Za-z0-9_-]{1,64}$" }, email: { format: "email" } });
});

test("a message that is sent and answered has a schema for each way", () => {
  expect(schemas["PasswordPolicy.Input"]).toMatchObject({ required: ["minimumLength"], unevaluatedProperties: false });
  expect(schemas.PasswordPolicy?.required).toContain("historyDepth");
  expect(schemas.PasswordPolicy?.unevaluatedProperties).toBeUndefined();
});

test("answers say what is always there, and 64 bits are text", () => {
  expect(schemas.Details).toMatchObject({
    required: ["sequence", "resourceOwner"],
    properties: {
      sequence: { type: "string", format: "uint64" },
      creationDate: { type: "string", format: "date-time" },
    },
  });
  expect(schemas.ChangePhoneResponse?.properties?.details?.description).toMatch(/\bcreationDate\b/);
  expect(schemas.CreateOidcApplicationResponse?.required).not.toContain("clientSecret");
});

test("a message says which of its fields exclude each other", () => {
  expect(schemas.AddUserGrantOutcome?.description).toMatch(/At most one of `added` and `refused` is set\.$/);
});

test("what is no part of the path or the body is in the query", () => {
  expect(named(at("/v1/events", "get"))).toEqual(
    expect.arrayContaining(["query instance", "query types", "query since", "query pageSize", "query pageToken"]),
  );
  const [pageSize] = at("/v1/users", "get").parameters.filter((one) => "name" in one && one.name === "pageSize");
  expect(pageSize).toMatchObject({
    in: "query",
    required: false,
    schema: { type: "integer", minimum: 0, maximum: 1000 },
  });
});

const everywhere = ["accept-language", "connect-timeout-ms"];

test("a stream says what it comes as, and where it goes on", () => {
  const watch = at("/v1/events:watch", "get");
  const answer = watch.responses[200];
  const content = answer && "content" in answer ? answer.content : {};
  expect(Object.keys(content)).toEqual(["application/x-ndjson", "text/event-stream"]);
  expect(named(watch)).toEqual(expect.arrayContaining(["query after", ...everywhere, "last-event-id"]));
});

test("headers, security and permission follow the access option", () => {
  const create = at("/v1/projects/{projectId}/applications/oidc", "post");
  expect(named(create)).toEqual(["path projectId", "x-service-orgid", "idempotency-key", ...everywhere]);
  expect(create).toMatchObject({ security: [{ bearer: [] }], "x-permission": "app.write" });
  const session = at("/v1/sessions", "post");
  expect(session.security).toEqual([]);
  expect(named(session)).toEqual(everywhere);
  expect(named(at("/v1/users/{userId}/phone", "post"))).not.toContain("x-service-orgid");
  expect(named(at("/v1/users/me", "get"))).toEqual(["query projectId", ...everywhere]);
});

test("every reason is listed with the status that it is refused with", () => {
  const { responses } = document.components;
  const listed = Object.values(responses).flatMap(({ description }) => [...description.matchAll(/`(\w+)`/g)]);
  const answered = new Set(all.flatMap(({ operation }) => Object.keys(operation.responses)));
  expect(Object.keys(responses)).toEqual([...answered].filter((status) => status !== "200").sort());
  expect(schemas.Reason?.["x-extensible-enum"]).toEqual(Object.keys(reasons).sort());
  expect(schemas.Reason?.["x-extensible-enum"]).toEqual(expect.arrayContaining(listed.map(([, reason]) => reason)));
  expect(responses[404]?.description).toContain("`USER_NOT_FOUND`");
  expect(responses[401]?.headers).toHaveProperty("www-authenticate");
  for (const response of Object.values(responses)) expect(response.description).not.toMatch(/^Refused/);
});
