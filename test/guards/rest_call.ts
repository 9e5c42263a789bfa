import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { Answer, Client } from "../harness.ts";

/** Calls an rpc by its first REST path, with a request as JSON: what the path names goes there, the rest into body or query. */
export function callRest(
  client: Client,
  method: DescMethod,
  request: Readonly<Record<string, unknown>>,
  headers = {},
): Promise<Answer> {
  const rule = getOption(method, http);
  const verb = (rule.pattern.case ?? "get").toUpperCase();
  const template = typeof rule.pattern.value === "string" ? rule.pattern.value : "";
  const rest = { ...request };
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const field = method.input.fields.find((one) => one.name === name)?.jsonName ?? "";
    const value = encodeURIComponent(String(rest[field]));
    delete rest[field];
    return value;
  });
  if (rule.body) return client.call(verb, path, rest, headers);
  const query = new URLSearchParams(
    Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return client.call(verb, query ? `${path}?${query}` : path, undefined, headers);
}
