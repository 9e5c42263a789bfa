import type { DescField } from "@bufbuild/protobuf";
import { comments } from "../../../../../gen/comments.ts";
import type { HttpRule } from "../../../../../gen/google/api/http_pb.ts";
import { isWellKnown } from "../../codec/json/leaf.ts";
import { type Binding, compileBinding } from "../../rest/binding.ts";
import { patternOf } from "../../rest/compile.ts";
import { parseTemplate } from "../../rest/parser.ts";
import type { Operation } from "../../rpc/operations.ts";
import { type AccessFacts, accessFacts } from "./access.ts";
import { requestIdHeader } from "./answers.ts";
import type { Content, OperationObject, Parameter, Ref, Response, Schema } from "./document.ts";
import { inJson, type Schemas } from "./schemas.ts";

/** An operation behind one of its REST paths, described. */
export type Described = { readonly path: string; readonly method: string; readonly object: OperationObject };

/** The request headers that several operations share. */
export const sharedParameters: Readonly<Record<string, Parameter>> = {
  "x-service-orgid": header("x-service-orgid", "The organization worked in; by default the caller's own."),
  "idempotency-key": header(
    "idempotency-key",
    "Repeats of a call with the same key and body get the first answer again, for 24 hours.",
    { minLength: 1, maxLength: 200, pattern: "^[!-~]+$" },
  ),
  "accept-language": header("accept-language", "The language of texts: en, de, fr or es."),
  "connect-timeout-ms": header(
    "connect-timeout-ms",
    "Milliseconds after which the caller no longer waits; a call that is no stream ends in time in any case.",
    { pattern: "^[1-9][0-9]{0,9}$" },
  ),
  "last-event-id": header(
    "last-event-id",
    "Goes on after this position, as browsers ask by themselves; wins over `after`.",
  ),
};

function header(name: string, description: string, more: Schema = {}): Parameter {
  return { name, in: "header", required: false, description, schema: { type: "string", ...more } };
}

/** Describes an operation once for each of its REST paths. */
export function describeOperation(operation: Operation, schemas: Schemas): Described[] {
  return operation.rules.map((rule, index) => describeRule({ operation, rule, schemas, index }));
}

type Given = {
  readonly operation: Operation;
  readonly rule: HttpRule;
  readonly schemas: Schemas;
  readonly index: number;
};

function describeRule({ operation, rule, schemas, index }: Given): Described {
  const [verb, template] = patternOf(operation, rule);
  const { method } = operation;
  const binding = compileBinding(method, rule, parseTemplate(template));
  const facts = accessFacts(method);
  const comment = inJson(method.input.fields, comments[`${method.parent.typeName}.${method.name}`] ?? "");
  const object: OperationObject = {
    operationId: `${method.parent.name}_${method.name}${index > 0 ? `_${index + 1}` : ""}`,
    tags: [method.parent.name],
    summary: comment.split(/(?<=\.) /, 1)[0] ?? "",
    description: [comment, facts.sentence, ...sizeOf(operation, binding)].filter(Boolean).join(" "),
    security: facts.open ? [] : [{ bearer: [] }],
    parameters: [
      ...pathParameters(binding, schemas),
      ...queryParameters(operation, binding, schemas),
      ...headersOf(operation, facts),
    ],
    ...bodyOf(operation, binding, schemas),
    responses: { 200: answerOf(operation, binding, schemas), ...refusalsOf(operation, facts, binding) },
    "x-rpc": operation.path,
    ...(facts.permission && { "x-permission": facts.permission }),
  };
  return { path: pathOf(template, binding), method: verb.toLowerCase(), object };
}

const sizeOf = ({ messageBytes }: Operation, { body }: Binding) =>
  body === undefined ? [] : [`The body has at most ${messageBytes} bytes, also when it is decompressed.`];

const nameIn = (fields: readonly DescField[]) => fields.map(({ jsonName }) => jsonName).join(".");

function pathOf(template: string, { variables }: Binding): string {
  const names = new Map(variables.map(({ path, fields }) => [path.join("."), nameIn(fields)]));
  return template.replace(/\{([\w.]+)(=[^}]*)?\}/g, (_all, name: string) => `{${names.get(name) ?? name}}`);
}

function pathParameters({ variables }: Binding, schemas: Schemas): Parameter[] {
  return variables.map(({ fields }) => {
    const { schema, ...about } = parameter(fields, schemas);
    // An empty segment is another path.
    const filled = schema.type === "string" ? { minLength: 1, ...schema } : schema;
    return { ...about, schema: filled, in: "path", required: true };
  });
}

function queryParameters({ method }: Operation, binding: Binding, schemas: Schemas): Parameter[] {
  if (binding.body === "*") return [];
  const bound = new Set([
    nameIn(binding.body ? [binding.body] : []),
    ...binding.variables.map(({ fields }) => nameIn(fields)),
  ]);
  return method.input.fields
    .flatMap((field) => leaves([field]))
    .filter((fields) => !bound.has(nameIn(fields)) && fields[0] !== binding.body)
    .map((fields) => parameter(fields, schemas));
}

/** The single values and lists of them that a query can name. */
function leaves(fields: readonly DescField[]): (readonly DescField[])[] {
  const last = fields.at(-1);
  const inner = last?.message && !isWellKnown(last.message) ? last.message : undefined;
  if (!last || last.fieldKind === "map" || (inner && last.fieldKind === "list")) return [];
  return inner ? inner.fields.flatMap((field) => leaves([...fields, field])) : [fields];
}

function parameter(fields: readonly DescField[], { object, property }: Schemas): Parameter {
  const last = fields.at(-1);
  if (!last) throw new Error("a parameter has no field");
  const { description, ...schema } = property(last, "request");
  const required = object(last.parent, [last], "request").required?.includes(last.jsonName) ?? false;
  return {
    ...{ name: nameIn(fields), in: "query", required: required && fields.length === 1, schema },
    ...(description && { description }),
  };
}

function headersOf({ kind }: Operation, { option, keyed }: AccessFacts): Ref[] {
  const names = [
    ...(option.organization ? ["x-service-orgid"] : []),
    ...(keyed ? ["idempotency-key"] : []),
    ...["accept-language", "connect-timeout-ms"],
    ...(kind === "stream" ? ["last-event-id"] : []),
  ];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

function bodyOf({ method }: Operation, { body, variables }: Binding, schemas: Schemas) {
  if (body === undefined) return {};
  const inPath = new Set(variables.map(({ fields }) => fields[0]));
  const fields = method.input.fields.filter((field) => !inPath.has(field));
  const whole =
    inPath.size === 0 ? schemas.message(method.input, "request") : schemas.object(method.input, fields, "request");
  const schema = body === "*" ? whole : schemas.property(body, "request");
  const { required = [] } = body === "*" ? schemas.object(method.input, fields, "request") : {};
  return { requestBody: { required: body !== "*" || required.length > 0, content: json(schema) } };
}

const json = (schema: Schema): Content => ({ "application/json": { schema } });

function answerOf({ method, kind }: Operation, { responseBody }: Binding, schemas: Schemas): Response {
  const schema = responseBody ? schemas.property(responseBody, "answer") : schemas.message(method.output, "answer");
  if (kind === "unary") return { description: "Done.", headers: requestIdHeader, content: json(schema) };
  const end = { type: "object", properties: { error: { $ref: "#/components/schemas/Error" } }, required: ["error"] };
  const events =
    "Server-sent events: `data` is a message, and `id` where to go on after it; `refused` is the last event.";
  return {
    description: [
      "One line of JSON for each message, as it comes; a line with `error` is the last.",
      "As server-sent events for who accepts `text/event-stream`.",
    ].join(" "),
    headers: requestIdHeader,
    content: {
      "application/x-ndjson": { schema: { anyOf: [schema, end] } },
      "text/event-stream": { schema: { type: "string", description: events } },
    },
  };
}

function refusalsOf(
  { method }: Operation,
  { permission, keyed, open }: AccessFacts,
  { body }: Binding,
): Record<string, Ref> {
  const writes = keyed || open;
  const names = method.input.fields.some(({ name }) => name.endsWith("_id"));
  const statuses = [
    ...[400, 401],
    ...(permission ? [403] : []),
    ...(names || permission ? [404] : []),
    ...(writes ? [409] : []),
    ...(body ? [413, 415] : []),
    ...(writes ? [429] : []),
    ...[431, 500, 503, 504],
  ];
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]));
}
