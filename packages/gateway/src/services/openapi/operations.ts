import type { DescField, DescMethod } from "@bufbuild/protobuf";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import { isWellKnown } from "../../codec/json/leaf.ts";
import { type Binding, compileBinding } from "../../rest/binding.ts";
import { patternOf } from "../../rest/compile.ts";
import { parseTemplate } from "../../rest/parser.ts";
import { pathOf as rpcPathOf } from "../../rpc/rpc_method.ts";
import { commonHeaders } from "./answers.ts";
import type { Content, OperationObject, Parameter, Ref, Response, Schema } from "./document.ts";
import { withExample } from "./examples.ts";
import type { ApiOptions, MethodFacts } from "./options.ts";
import { inJson, type Schemas } from "./schemas.ts";

/** The description of an operation at one of its REST paths. */
export type DescribedOperation = { readonly path: string; readonly method: string; readonly object: OperationObject };

/** Describes an rpc once for each of its REST paths. */
export function describeMethod(method: DescMethod, schemas: Schemas, options: ApiOptions): DescribedOperation[] {
  const facts = options.describe(method);
  const { input, output, parent, name } = method;
  const inner = input.fields.flatMap(({ message }) => message?.fields ?? []);
  const fields = [...input.fields, ...inner, ...output.fields];
  const comment = inJson(fields, options.comments[`${parent.typeName}.${name}`] ?? "");
  return facts.rest.map((rule, index) => describeRule({ method, facts, comment, rule, schemas, index, options }));
}

type RuleOptions = {
  readonly method: DescMethod;
  readonly facts: MethodFacts;
  readonly comment: string;
  readonly rule: HttpRule;
  readonly schemas: Schemas;
  readonly index: number;
  readonly options: ApiOptions;
};

function describeRule({ method, facts, comment, rule, schemas, index, options }: RuleOptions): DescribedOperation {
  const path = rpcPathOf(method);
  const [verb, template] = patternOf({ path }, rule);
  const binding = compileBinding(method, rule, parseTemplate(template));
  const suffix = index > 0 ? String(index + 1) : "";
  const object: OperationObject = {
    operationId: `${method.parent.name}_${method.name}${suffix && `_${suffix}`}`,
    tags: [method.parent.name],
    summary: comment.split(/(?<=\.) /, 1)[0] ?? "",
    description: [comment, facts.sentence, ...sizeOf(facts, binding)].filter(Boolean).join(" "),
    security: facts.isOpen || options.bearer === undefined ? [] : [{ bearer: [] }],
    parameters: [
      ...pathParameters(binding, schemas),
      ...queryParameters(method, binding, schemas),
      ...facts.headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...bodyOf(method, binding, titled(schemas, `${method.name}Body${suffix}`)),
    responses: {
      200: { ...answerOf(method, binding, schemas), headers: commonHeaders(options) },
      ...refusalsOf(facts, binding, options),
    },
    "x-rpc": path,
    ...(typeof binding.body === "object" && { "x-body-field": binding.body.jsonName }),
    ...(facts.permission && { "x-permission": facts.permission }),
  };
  const described = withExample(object, binding, options.examples[object.operationId]);
  return { path: pathOf(template, binding), method: verb.toLowerCase(), object: described };
}

/** Makes schemas in which inline objects have a title. */
const titled = (schemas: Schemas, title: string): Schemas => ({
  ...schemas,
  object: (type, fields, direction) => ({ title, ...schemas.object(type, fields, direction) }),
});

const sizeOf = ({ messageMaxBytes }: MethodFacts, { body }: Binding) =>
  body === undefined ? [] : [`The body has at most ${messageMaxBytes} bytes, also when it is decompressed.`];

const nameIn = (fields: readonly DescField[]) => fields.map(({ jsonName }) => jsonName).join(".");

function pathOf(template: string, { variables }: Binding): string {
  const names = new Map(variables.map(({ path, fields }) => [path.join("."), nameIn(fields)]));
  return template.replace(/\{([\w.]+)(=[^}]*)?\}/g, (_all, name: string) => `{${names.get(name) ?? name}}`);
}

function pathParameters({ variables }: Binding, schemas: Schemas): Parameter[] {
  return variables.map(({ fields }) => {
    const { schema, ...about } = parameter(fields, schemas);
    // An empty segment would be another path.
    const filled = schema.type === "string" ? { minLength: 1, ...schema } : schema;
    return { ...about, schema: filled, in: "path", required: true };
  });
}

function queryParameters(method: DescMethod, binding: Binding, schemas: Schemas): Parameter[] {
  if (binding.body === "*") return [];
  const bound = new Set([
    nameIn(binding.body ? [binding.body] : []),
    ...binding.variables.map(({ fields }) => nameIn(fields)),
  ]);
  return method.input.fields
    .flatMap((field) => leaves([field]))
    .filter((fields) => !bound.has(nameIn(fields)) && fields[0] !== binding.body)
    .map((fields) => {
      const described = parameter(fields, schemas);
      return fields[0] === binding.masked?.mask ? withMaskRule(described) : described;
    });
}

/** Explains in the description of an update mask how it derives from the body. */
function withMaskRule({ description = "", ...rest }: Parameter): Parameter {
  return { ...rest, description: `${description} By default the keys of the body.`.trim() };
}

/** The fields that a query can set: single values, and lists of them. */
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
    name: nameIn(fields),
    in: "query",
    required: required && fields.length === 1,
    schema,
    ...(description && { description }),
  };
}

function bodyOf(method: DescMethod, { body, variables }: Binding, schemas: Schemas) {
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

function answerOf(method: DescMethod, { responseBody }: Binding, schemas: Schemas): Omit<Response, "headers"> {
  const schema = responseBody ? schemas.property(responseBody, "answer") : schemas.message(method.output, "answer");
  if (method.methodKind === "unary") return { description: "Done.", content: json(schema) };
  const error = { $ref: "#/components/schemas/Error", description: "The refusal that ended the stream." };
  const end = { type: "object", properties: { error }, required: ["error"] };
  const events =
    "Server-sent events: `data` is a message, and `id` where to go on after it; `refused` is the last event.";
  return {
    description: [
      "One line of JSON for each message, as it comes; a line with `error` is the last.",
      "As server-sent events for who accepts `text/event-stream`.",
    ].join(" "),
    content: {
      "application/x-ndjson": { schema: { anyOf: [schema, end] } },
      "text/event-stream": { schema: { type: "string", description: events } },
    },
  };
}

function refusalsOf({ statuses }: MethodFacts, { body }: Binding, { reasons }: ApiOptions): Record<string, Ref> {
  const all = [400, ...(body ? [413, 415] : []), 431, 500, 503, 504, ...statuses];
  const sorted = [...new Set(all)].filter((status) => reasons.has(status)).sort((a, b) => a - b);
  return Object.fromEntries(sorted.map((status) => [status, { $ref: `#/components/responses/${status}` }]));
}
