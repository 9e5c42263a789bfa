import { type DescMethod, getOption, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";

/** A request by the first REST path of its rpc: what the path names goes there, the rest into body or query. */
export function restRequest(method: DescMethod, request: JsonObject) {
  const rule = getOption(method, http);
  const template = typeof rule.pattern.value === "string" ? rule.pattern.value : "";
  const rest = { ...request };
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const field = method.input.fields.find((one) => one.name === name)?.jsonName ?? "";
    const value = encodeURIComponent(String(rest[field]));
    delete rest[field];
    return value;
  });
  const verb = (rule.pattern.case ?? "get").toUpperCase();
  if (rule.body) return { verb, path, body: rest };
  const query = new URLSearchParams(Object.entries(rest).flatMap(([name, value]) => pairsOf(name, value))).toString();
  return { verb, path: query ? `${path}?${query}` : path, body: undefined };
}

function pairsOf(name: string, value: JsonValue | undefined): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((item) => pairsOf(name, item));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([inner, one]) => pairsOf(`${name}.${inner}`, one));
  return [[name, String(value)]];
}
