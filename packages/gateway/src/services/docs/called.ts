import type { Components, OperationObject, Parameter, Ref } from "../openapi/document.ts";
import { requestExample } from "./example.ts";

/** A call of an operation at its first path, as made by the samples and the form of its page. */
export type Called = {
  readonly verb: string;
  /** `/v1/users/{userId}` */
  readonly path: string;
  /** `/postern.v1.UserService/GetUser` */
  readonly rpc: string;
  readonly needsToken: boolean;
  readonly parameters: readonly Parameter[];
  /** The example body; undefined for an operation without one. */
  readonly body: unknown;
  /** The field of the message that the body stands for; if absent, all the others. */
  readonly bodyField: string | undefined;
  readonly isStream: boolean;
};

/** An operation at one of its paths. */
export type Placed = { readonly method: string; readonly path: string; readonly operation: OperationObject };

/** The call of an operation, with its parameters resolved. */
export function calledAt({ method, path, operation }: Placed, components: Components): Called {
  const done = operation.responses[200];
  return {
    verb: method.toUpperCase(),
    path,
    rpc: operation["x-rpc"],
    needsToken: operation.security.length > 0,
    parameters: operation.parameters.map((one) => resolved(one, components)),
    body: requestExample(operation, components),
    bodyField: operation["x-body-field"],
    isStream: done !== undefined && !("$ref" in done) && !done.content["application/json"],
  };
}

const isRef = (one: Parameter | Ref): one is Ref => "$ref" in one;

function resolved(one: Parameter | Ref, { parameters }: Components): Parameter {
  if (!isRef(one)) return one;
  const parameter = parameters[one.$ref.replace(/^.*\//, "")];
  if (!parameter) throw new Error(`${one.$ref} is described nowhere`);
  return parameter;
}

/** A piece of text, or the name of an environment variable. */
export type Piece = { readonly text: string } | { readonly variable: string };

/** The path of a call: text, and variables for its parameters. */
export const pathOf = ({ path }: Called): Piece[] =>
  path
    .split(/\{([^}]+)\}/)
    .map((part, index) => (index % 2 === 0 ? { text: part } : { variable: variableOf(part) }))
    .filter((piece) => !("text" in piece) || piece.text !== "");

/** The required query parameters, with their variables. */
export const queryOf = ({ parameters }: Called) =>
  parameters
    .filter((one) => one.in === "query" && one.required)
    .map(({ name }, index) => ({ prefix: `${index === 0 ? "?" : "&"}${name}=`, name, variable: variableOf(name) }));

/** The environment variable for a parameter: `USER_ID` for `userId`. */
export const variableOf = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])|\./g, "_").toUpperCase();

/** A call's message for gRPC: the body, and a variable for each parameter. */
export function messageOf({ parameters, body, bodyField }: Called): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const { name, in: where, required } of parameters)
    if (where !== "header" && required) place(message, name.split("."), inMessage(name));
  if (body === undefined) return message;
  return bodyField === undefined ? { ...message, ...Object(body) } : { ...message, [bodyField]: body };
}

function place(message: Record<string, unknown>, [first = "", ...rest]: readonly string[], value: string): void {
  if (rest.length === 0) {
    message[first] = value;
    return;
  }
  const inner = { ...Object(message[first]) };
  place(inner, rest, value);
  message[first] = inner;
}

// U+0000 occurs in no name and no example.
const inMessage = (name: string) => `\0${variableOf(name)}\0`;

/** The JSON of a message: text, and the variables in it. */
export const jsonPieces = (message: unknown): Piece[] =>
  jsonText(message)
    .split(/\\u0000(\w+)\\u0000/)
    .map((part, index) => (index % 2 === 0 ? { text: part } : { variable: part }));

/** JSON, on one line if it is short. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  const line = text.replaceAll(/\n */g, " ");
  return line.replaceAll("\\u0000", "").length <= 72 ? line : text;
}
