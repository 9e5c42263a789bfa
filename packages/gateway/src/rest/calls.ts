import type { DescField, DescMessage, JsonObject, Message } from "@bufbuild/protobuf";
import { refuse, type Violation } from "../../../../src/errors.ts";
import { type Decoder, decoderOf } from "../codec/decoder.ts";
import { shapeOfField } from "../codec/json/shape.ts";
import { isObject } from "../codec/json/text.ts";
import { encodeJson, type Rules, readJson, readJsonObject } from "../codec/json.ts";
import type { Operation, Operations } from "../rpc/operations.ts";
import { bindPath } from "./binding.ts";
import { compileRest, type RestTarget } from "./compile.ts";
import { bindQuery } from "./query.ts";

/** A request in plain JSON that leads to an operation. */
export type PlainCall<O extends Operation = Operation> = {
  readonly operation: O;
  /** Reads a body of this content type. */
  readonly decode: (body: Uint8Array, contentType: string | undefined) => Message;
  readonly encode: (answer: Message) => string;
};

/** What a method and a target lead to; undefined for paths of others. */
export type Found =
  | { readonly kind: "call"; readonly call: PlainCall }
  | { readonly kind: "malformed" }
  | { readonly kind: "wrong method"; readonly allow: string };

/** Finds calls by method, path and query. */
export type FindCall = (method: string, path: string, query: string) => Found | undefined;

type Given = { readonly operations: Operations; readonly rules: (type: DescMessage) => Rules };

/** REST paths, and rpc paths for clients that speak no protocol at all. */
export function plainCalls({ operations, rules }: Given): FindCall {
  const router = compileRest(operations);
  const decoders = new Map(
    [...operations.values()].map((one) => [one, decoderOf(one.method.input, rules(one.method.input))]),
  );
  const rpcs = new Map([...decoders].map(([operation, decoder]) => [operation.path, rpcCall(operation, decoder)]));
  return (method, path, query) => {
    const rpc = rpcs.get(path);
    if (rpc) return method === "POST" ? { kind: "call", call: rpc } : { kind: "wrong method", allow: "POST" };
    const match = router.match(method, path);
    switch (match.kind) {
      case "unknown":
        return undefined;
      case "malformed":
        return match;
      case "wrong method":
        return { kind: match.kind, allow: match.allow.join(", ") };
      case "found": {
        const { target } = match.route;
        const decoder = decoders.get(target.operation);
        return decoder && { kind: "call", call: restCall({ ...target, segments: match.segments, query, decoder }) };
      }
    }
  };
}

function rpcCall(operation: Operation, { fromJson }: Decoder): PlainCall {
  const { output } = operation.method;
  return {
    operation,
    decode(body, contentType) {
      expectJson(body, contentType);
      return fromJson(body);
    },
    encode: (answer) => JSON.stringify(encodeJson(output, answer)),
  };
}

type Matched = RestTarget & { readonly segments: readonly string[]; readonly query: string; readonly decoder: Decoder };

function restCall({ operation, binding, segments, query, decoder }: Matched): PlainCall {
  const { input, output } = operation.method;
  return {
    operation,
    decode(body, contentType) {
      const { json, violations } = bodyJson(body, contentType, { input, body: binding.body });
      const all = [...violations, ...bindPath(binding, segments, json), ...bindQuery(binding, input, query, json)];
      return decoder.fromDraft({ value: json, violations: all });
    },
    encode: (answer) => JSON.stringify(shown(output, answer, binding.responseBody)),
  };
}

type Body = { readonly json: JsonObject; readonly violations: readonly Violation[] };

type Part = { readonly input: DescMessage; readonly body: RestTarget["binding"]["body"] };

function bodyJson(bytes: Uint8Array, contentType: string | undefined, { input, body }: Part): Body {
  if (body === undefined) {
    if (bytes.length > 0) throw refuse.because("MALFORMED_BODY");
    return { json: {}, violations: [] };
  }
  expectJson(bytes, contentType);
  if (body === "*") {
    const { value, violations } = readJsonObject(bytes, input);
    return { json: isObject(value) ? value : {}, violations };
  }
  if (bytes.length === 0) return { json: {}, violations: [] };
  const { value, violations } = readJson(bytes, shapeOfField(body));
  const inside = violations.map((one) => ({ ...one, field: within(body.jsonName, one.field) }));
  return { json: { [body.jsonName]: value }, violations: inside };
}

const within = (field: string, path: string) => (path.startsWith("[") ? `${field}${path}` : `${field}.${path}`);

function expectJson(body: Uint8Array, contentType: string | undefined): void {
  if (contentType === "application/json") return;
  if (contentType === undefined ? body.length > 0 : !isJson(contentType))
    throw refuse.because("UNSUPPORTED_CONTENT_TYPE");
}

function isJson(contentType: string): boolean {
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  if (type !== "application/json") return false;
  return parameters.every((one) => one === "" || !one.startsWith("charset=") || /^charset="?utf-8"?$/.test(one));
}

function shown(output: DescMessage, answer: Message, part: DescField | undefined) {
  const json = encodeJson(output, answer);
  return part && isObject(json) ? (json[part.jsonName] ?? null) : json;
}
