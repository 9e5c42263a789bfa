import type { IncomingMessage } from "node:http";
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { createInterface } from "node:readline";
import { type DescMethod, getOption, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { Connection } from "./connection.ts";
import { type Failure, networkFailure, serviceFailure, statusFailure } from "./failure.ts";
import { UsageError } from "./usage_error.ts";

type RestRequest = { readonly verb: string; readonly path: string; readonly body: JsonValue | undefined };

/** The request of a call by the path in its `google.api.http` rule; the rest of the message goes into the body or query. */
export function restRequest(method: DescMethod, message: JsonObject): RestRequest {
  const { pattern, body: bodyField } = getOption(method, http);
  if (pattern.case === undefined || pattern.case === "custom")
    throw new UsageError(`${method.parent.name}/${method.name} has no path of REST: take another --protocol`);
  const rest = { ...message };
  const path = pattern.value.replace(/\{(\w+)(?:=[^}]*)?\}/g, (_, name: string) => take(rest, method, name));
  const verb = pattern.case.toUpperCase();
  if (bodyField === "*") return { verb, path, body: rest };
  const part = jsonName(method, bodyField);
  const body = bodyField === "" ? undefined : rest[part];
  delete rest[part];
  const query = new URLSearchParams(Object.entries(rest).flatMap(([name, value]) => pairsOf(name, value))).toString();
  return { verb, path: query ? `${path}?${query}` : path, body };
}

function take(rest: JsonObject, method: DescMethod, name: string): string {
  const field = jsonName(method, name);
  const value = rest[field];
  delete rest[field];
  if (typeof value === "string" && value !== "") return encodeURIComponent(value);
  throw new UsageError(`${field} is missing, which the path of ${method.parent.name}/${method.name} needs`);
}

const jsonName = (method: DescMethod, name: string): string =>
  method.input.fields.find((field) => field.name === name)?.jsonName ?? name;

function pairsOf(name: string, value: JsonValue | undefined): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((item) => pairsOf(name, item));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([inner, one]) => pairsOf(`${name}.${inner}`, one));
  return value === undefined ? [] : [[name, String(value)]];
}

export type RestOptions = { readonly signal: AbortSignal; readonly headers: Readonly<Record<string, string>> };

/** Calls a method over REST; yields the response, or the lines of a stream. */
export async function* callRest(
  connection: Connection,
  method: DescMethod,
  { message, signal, headers }: RestOptions & { readonly message: JsonObject },
): AsyncGenerator<JsonObject> {
  const response = await send(connection, restRequest(method, message), { signal, headers });
  const status = response.statusCode ?? 0;
  if (status !== 200) throw refusalIn(await textOf(response), response);
  if (method.methodKind === "unary") return yield objectIn(await textOf(response), response);
  for await (const line of createInterface({ input: response })) {
    const one = objectIn(line, response);
    if (isObject(one.error)) throw refusalIn(JSON.stringify(one.error), response);
    yield one;
  }
}

function send(connection: Connection, { verb, path, body }: RestRequest, { signal, headers }: RestOptions) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { url, agent } = connection;
  const json = body === undefined ? undefined : JSON.stringify(body);
  const content =
    json === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(json) };
  const all = { ...connection.headers, ...headers, ...content, accept: "application/json, application/x-ndjson" };
  const request = url.startsWith("https:") ? secureRequest : plainRequest;
  const sent = request(`${url}${path}`, { method: verb, headers: all, agent, signal });
  sent.on("response", resolve).on("error", (error) => reject(networkFailure(error)));
  sent.end(json);
  return promise;
}

const mostBytes = 64 * 2 ** 20;

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > mostBytes) throw serviceFailure(`the response is larger than ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function objectIn(text: string, response: IncomingMessage): JsonObject {
  try {
    const value: JsonValue = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Refused below, like any other text that is not an object.
  }
  throw serviceFailure(`the response (HTTP status ${response.statusCode}) is not JSON from this service`);
}

function refusalIn(text: string, response: IncomingMessage): Failure {
  const requestId = response.headers["x-request-id"];
  return statusFailure(objectIn(text, response), typeof requestId === "string" ? requestId : undefined);
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
