import { expect, test } from "vitest";
import type { Schema } from "../../../packages/gateway/src/services/openapi/document.ts";
import { openapi } from "../../../packages/gateway/src/services/openapi/openapi.ts";
import { apiOptions } from "../../../src/contract/api.ts";
import { describeAll } from "../../../src/contract/describe.ts";
import { services } from "../../../src/routes.ts";

// What generators of clients and linters stumble over, tried with openapi-generator, Spectral and Redocly.
const document = openapi(apiOptions(describeAll(services)));
const { schemas, ...others } = document.components;

type Node = { readonly path: string; readonly value: object };

function* nodesIn(value: unknown, path: string): Generator<Node> {
  if (typeof value !== "object" || value === null) return;
  yield { path, value };
  for (const [key, one] of Object.entries(value)) yield* nodesIn(one, `${path}/${key}`);
}

const nodes = [...nodesIn(document, "#")];

const having = (key: keyof Schema) =>
  nodes.flatMap(({ path, value }) => {
    const schema = value as Schema;
    return Object.hasOwn(schema, key) && !path.endsWith("/properties") ? [{ path, schema }] : [];
  });

const pathsOf = (found: readonly { readonly path: string }[]) => found.map(({ path }) => path);

test("a default says something", () => {
  const empty = having("default").filter(({ schema }) => {
    const value: unknown = schema.default;
    return value === "" || Array.isArray(value) || String(value).endsWith("_UNSPECIFIED");
  });
  expect(pathsOf(empty)).toEqual([]);
  expect(having("default").length).toBeGreaterThan(10);
});

test("no schema is composed of others, but where a value may have one of several", () => {
  for (const key of ["allOf", "oneOf", "not"]) expect(pathsOf(having(key as keyof Schema)), key).toEqual([]);
  expect(pathsOf(having("anyOf"))).toEqual([
    "#/paths//v1/events:watch/get/responses/200/content/application/x-ndjson/schema",
    "#/components/schemas/ErrorDetail",
  ]);
});

test("every schema has one type", () => {
  expect(having("type").filter(({ schema }) => Array.isArray(schema.type))).toEqual([]);
});

test("a list of values that its schema enumerates is no set", () => {
  expect(pathsOf(having("uniqueItems").filter(({ schema }) => schema.items?.enum))).toEqual([]);
});

test("every component is used", () => {
  const refs = new Set(having("$ref").map(({ schema }) => schema.$ref));
  for (const [kind, components] of Object.entries({ schemas, ...others })) {
    if (kind === "securitySchemes") continue;
    const unused = Object.keys(components).filter((name) => !refs.has(`#/components/${kind}/${name}`));
    expect(unused, kind).toEqual([]);
  }
});
