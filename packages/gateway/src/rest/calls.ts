import type { DescField, DescMessage, JsonObject, JsonValue, Message } from "@bufbuild/protobuf";
import { shapeOfField } from "../codec/json/shape.ts";
import { isObject } from "../codec/json/text.ts";
import { readJson, readJsonObject } from "../codec/json.ts";
import { GatewayError } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";
import type { Violation } from "../errors/violation.ts";
import type { FindCall, RestCall } from "../rpc/find_call.ts";
import type { Codec, RpcMethod } from "../rpc/rpc_method.ts";
import { bindPath } from "./binding.ts";
import { compileRest, type RestTarget } from "./compile.ts";
import { bindQuery } from "./query.ts";
import { fillMask } from "./update_mask.ts";

/** Matches REST paths, and the paths of rpcs for clients without an rpc protocol. */
export function restCalls(methods: ReadonlyMap<string, RpcMethod>, rest: boolean): FindCall {
  const router = compileRest(rest ? [...methods.values()] : []);
  const rpcs = new Map([...methods].map(([path, rpc]) => [path, rpcCall(rpc)]));
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
      case "found":
        return { kind: "call", call: restCall({ ...match.route.target, segments: match.segments, query }) };
    }
  };
}

function rpcCall(rpc: RpcMethod): RestCall {
  const codecFor = (contentType: string | undefined): Codec => ({
    ...rpc.json,
    decode(body, pause) {
      expectJson(body, contentType);
      return rpc.json.decode(body, pause);
    },
  });
  return { rpc, codecFor };
}

type RestRequest = RestTarget & { readonly segments: readonly string[]; readonly query: string };

function restCall({ rpc, binding, segments, query }: RestRequest): RestCall {
  const { input } = rpc.method;
  const { responseBody, masked } = binding;
  const ofPart = (message: Message) => JSON.stringify(responsePart(rpc.toJson(message), responseBody));
  const codecFor = (contentType: string | undefined): Codec => ({
    ...(responseBody === undefined ? rpc.json : { encode: ofPart, encodeInPieces: ofPart }),
    decode(body, pause) {
      const { json, violations } = bodyJson(body, contentType, { input, body: binding.body });
      const all = [...violations, ...bindPath(binding, segments, json), ...bindQuery(binding, input, query, json)];
      const decoded = rpc.decoder.fromDraft({ value: json, violations: all }, pause);
      const complete = (message: Message) => {
        if (masked) fillMask(message, masked, json);
        return message;
      };
      return decoded instanceof Promise ? decoded.then(complete) : complete(decoded);
    },
  });
  return { rpc, codecFor };
}

type Body = { readonly json: JsonObject; readonly violations: readonly Violation[] };

type Part = { readonly input: DescMessage; readonly body: RestTarget["binding"]["body"] };

function bodyJson(bytes: Uint8Array, contentType: string | undefined, { input, body }: Part): Body {
  if (body === undefined) {
    if (bytes.length > 0) throw unreadable("BODY_UNEXPECTED");
    return { json: {}, violations: [] };
  }
  expectJson(bytes, contentType);
  if (body === "*") {
    const { value, violations } = readJsonObject(bytes, input);
    return { json: isObject(value) ? value : {}, violations };
  }
  if (bytes.length === 0) return { json: {}, violations: [] };
  const { value, violations } = readJson(bytes, shapeOfField(body));
  const inside = violations.map((one) => ({ ...one, field: fieldInBody(body.jsonName, one.field) }));
  return { json: { [body.jsonName]: value }, violations: inside };
}

const fieldInBody = (field: string, path: string) => (path.startsWith("[") ? `${field}${path}` : `${field}.${path}`);

function expectJson(body: Uint8Array, contentType: string | undefined): void {
  if (contentType === "application/json") return;
  if (contentType === undefined ? body.length > 0 : !isJson(contentType))
    throw new GatewayError("UNSUPPORTED_CONTENT_TYPE", { params: { supported: "application/json" } });
}

function isJson(contentType: string): boolean {
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  if (type !== "application/json") return false;
  return parameters.every((one) => one === "" || !one.startsWith("charset=") || /^charset="?utf-8"?$/.test(one));
}

function responsePart(json: JsonValue, part: DescField | undefined): JsonValue {
  return part && isObject(json) ? (json[part.jsonName] ?? null) : json;
}
