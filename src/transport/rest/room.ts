import type { JsonObject, Message } from "@bufbuild/protobuf";
import { refuse, type Violation } from "../../errors.ts";
import { type Located, readBody } from "../exchange.ts";
import { isObject } from "../json/text.ts";
import { decodeJson, type Rules, readJson, readJsonObject, twice } from "../json.ts";
import { type Parts, type Room, visit } from "../rooms.ts";
import { bindPath } from "./binding.ts";
import { compileRest, type RestTarget } from "./compile.ts";
import { bindQuery } from "./query.ts";

/** The REST paths of google.api.http. */
export function restRoom(parts: Parts): Room {
  const router = compileRest(parts.operations);
  const rules = new Map([...parts.operations.values()].map(({ method }) => [method, parts.rules(method.input)]));
  return (asked, call) => {
    const match = router.match(asked.method, asked.path);
    switch (match.kind) {
      case "unknown":
        return undefined;
      case "malformed":
        throw refuse.because("MALFORMED_REQUEST");
      case "wrong method":
        throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: match.allow.join(", ") } });
      case "found": {
        const { target } = match.route;
        const { operation, binding } = target;
        const known = rules.get(operation.method) ?? (() => []);
        const decode = () => decodeRest(asked, { ...target, segments: match.segments, rules: known });
        return visit(parts, { asked, call, operation, decode, part: binding.responseBody });
      }
    }
  };
}

type Found = RestTarget & { readonly segments: readonly string[]; readonly rules: Rules };

async function decodeRest(asked: Located, { operation, binding, segments, rules }: Found): Promise<Message> {
  const { json, violations } = await bodyJson(asked, binding.body);
  const type = operation.method.input;
  const outside = [...bindPath(binding, segments, json), ...bindQuery(binding, type, asked.query, json)];
  return decodeJson(type, { value: json, violations: [...violations, ...outside] }, rules);
}

type Body = { readonly json: JsonObject; readonly violations: readonly Violation[] };

async function bodyJson(asked: Located, body: RestTarget["binding"]["body"]): Promise<Body> {
  if (body === undefined) {
    if ((await asked.body()).length > 0) throw refuse.because("MALFORMED_BODY");
    return { json: {}, violations: [] };
  }
  const bytes = await readBody(asked);
  if (body === "*") {
    const { value, repeated } = readJsonObject(bytes);
    return { json: isObject(value) ? value : {}, violations: twice(repeated) };
  }
  if (bytes.length === 0) return { json: {}, violations: [] };
  const { value, repeated } = readJson(bytes);
  return { json: { [body.jsonName]: value }, violations: twice(repeated.map((path) => within(body.jsonName, path))) };
}

const within = (field: string, path: string) => (path.startsWith("[") ? `${field}${path}` : `${field}.${path}`);
