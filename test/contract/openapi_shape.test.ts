import type { DescMessage } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { comments } from "../../gen/comments.ts";
import type { Schema } from "../../packages/gateway/src/services/openapi/document.ts";
import { openapi } from "../../packages/gateway/src/services/openapi/openapi.ts";
import { apiOptions } from "../../src/contract/api.ts";
import { describeAll } from "../../src/contract/describe.ts";
import { services } from "../../src/runtime/modules.ts";

// Generators of clients and linters stumble over each of these, tried with openapi-generator, Spectral and Redocly.
const rpcs = describeAll(services);
const document = await openapi(apiOptions(rpcs));
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
  ]);
});

test("every schema has one type", () => {
  expect(having("type").filter(({ schema }) => Array.isArray(schema.type))).toEqual([]);
});

test("no list is a set", () => {
  expect(pathsOf(having("uniqueItems" as keyof Schema))).toEqual([]);
});

test("a pattern has no class of Unicode, which Python lacks", () => {
  expect(pathsOf(having("pattern").filter(({ schema }) => /\\p/i.test(schema.pattern ?? "")))).toEqual([]);
});

test("every component is used", () => {
  const refs = new Set(having("$ref").map(({ schema }) => schema.$ref));
  for (const [kind, components] of Object.entries({ schemas, ...others })) {
    if (kind === "securitySchemes") continue;
    const unused = Object.keys(components).filter((name) => !refs.has(`#/components/${kind}/${name}`));
    expect(unused, kind).toEqual([]);
  }
});

test("every property and every parameter has a description", () => {
  const properties = having("properties").flatMap(({ path, schema }) =>
    Object.entries(schema.properties ?? {}).map(([name, { description }]) => ({
      path: `${path}/${name}`,
      description,
    })),
  );
  const parameters = [...Object.values(document.paths).flatMap((item) => Object.values(item))].flatMap(
    ({ operationId, parameters: own }) =>
      own.flatMap((one) =>
        "name" in one ? [{ path: `${operationId} ${one.name}`, description: one.description }] : [],
      ),
  );
  const all = [
    ...properties,
    ...parameters,
    ...Object.entries(others.parameters).map(([path, one]) => ({ path, ...one })),
  ];
  expect(all.length).toBeGreaterThan(800);
  expect(pathsOf(all.filter(({ description = "" }) => !/^[A-Z`].*[.`]$/.test(description)))).toEqual([]);
});

test("every field of the contract has a comment", () => {
  const seen = new Set<DescMessage>();
  const collect = (type: DescMessage): void => {
    if (seen.has(type)) return;
    seen.add(type);
    for (const { message } of type.fields) if (message) collect(message);
  };
  for (const { input, output } of rpcs.map(({ method }) => method)) for (const type of [input, output]) collect(type);
  const fields = [...seen].filter(({ typeName }) => typeName.startsWith("postern.")).flatMap((type) => type.fields);
  expect(fields.length).toBeGreaterThan(700);
  const without = fields.map(({ parent, name }) => `${parent.typeName}.${name}`).filter((name) => !comments[name]);
  expect(without).toEqual([]);
});
