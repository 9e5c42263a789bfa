import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Binding } from "../../rest/binding.ts";
import type { Content, OperationObject, Parameter, Ref, Response } from "./document.ts";
import type { Example } from "./options.ts";

/** Adds an example to an operation's parameters, body and response. */
export function withExample(
  operation: OperationObject,
  binding: Binding,
  example: Example | undefined,
): OperationObject {
  if (!example) return operation;
  const { request, answer } = example;
  const { requestBody, responses } = operation;
  const { 200: done, ...refusals } = responses;
  return {
    ...operation,
    parameters: operation.parameters.map((one) => withValue(one, request)),
    ...(requestBody && {
      requestBody: { ...requestBody, content: withBody(requestBody.content, bodyIn(request, binding)) },
    }),
    responses: { ...(done && { 200: answered(done, answer) }), ...refusals },
  };
}

function withValue(parameter: Parameter | Ref, request: JsonObject): Parameter | Ref {
  if ("$ref" in parameter || parameter.in === "header") return parameter;
  const example = valueAt(request, parameter.name.split("."));
  return example === undefined ? parameter : { ...parameter, example };
}

function valueAt(value: JsonValue | undefined, [name, ...more]: readonly string[]): JsonValue | undefined {
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return valueAt(value[name], more);
}

function bodyIn(request: JsonObject, { body, variables }: Binding): JsonValue | undefined {
  if (body !== "*") return body && request[body.jsonName];
  const inPath = new Set(variables.map(({ fields }) => fields[0]?.jsonName));
  return Object.fromEntries(Object.entries(request).filter(([name]) => !inPath.has(name)));
}

function withBody(content: Content, example: JsonValue | undefined): Content {
  if (example === undefined) return content;
  return Object.fromEntries(Object.entries(content).map(([type, one]) => [type, { ...one, example }]));
}

function answered(response: Response | Ref, example: JsonValue): Response | Ref {
  if ("$ref" in response) return response;
  const entries = Object.entries(response.content);
  const content = entries.map(([type, one]) => [type, type === "text/event-stream" ? one : { ...one, example }]);
  return { ...response, content: Object.fromEntries(content) };
}
