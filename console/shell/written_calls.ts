import type { MadeCall } from "../calls/made_calls.ts";
import { needs } from "../gen/contract.ts";
import { quoted } from "../parts/quoted.ts";

export const tools = ["curl", "grpcurl", "TypeScript"] as const;
export type Tool = (typeof tools)[number];

/** A call written for a tool. The token stays a variable. */
export function written(made: MadeCall, tool: Tool): string {
  return { curl, grpcurl, TypeScript: typeScript }[tool](made);
}

const writes = ({ method }: MadeCall): boolean => needs[method as keyof typeof needs]?.writes ?? false;

function curl(made: MadeCall): string {
  const lines = [
    `curl ${location.origin}/postern.v1.${made.method}`,
    `-H "authorization: Bearer $TOKEN"`,
    "-H 'content-type: application/json'",
    ...(made.organizationId ? [`-H ${quoted(`x-service-orgid: ${made.organizationId}`)}`] : []),
    ...(writes(made) ? [`-H "idempotency-key: $(uuidgen)"`] : []),
    `-d ${quoted(JSON.stringify(made.request))}`,
  ];
  return lines.join(" \\\n  ");
}

function grpcurl(made: MadeCall): string {
  const lines = [
    `grpcurl${location.protocol === "http:" ? " -plaintext" : ""}`,
    `-H "authorization: Bearer $TOKEN"`,
    ...(made.organizationId ? [`-H ${quoted(`x-service-orgid: ${made.organizationId}`)}`] : []),
    ...(writes(made) ? [`-H "idempotency-key: $(uuidgen)"`] : []),
    `-d ${quoted(JSON.stringify(made.request))}`,
    `${location.hostname}:${location.port || (location.protocol === "http:" ? 80 : 443)} postern.v1.${made.method}`,
  ];
  return lines.join(" \\\n  ");
}

/** With our client library, which sends the token and the key of a write itself. */
function typeScript(made: MadeCall): string {
  const [service = "", method = ""] = made.method.split("/");
  const one = lower(service.replace(/Service$/, ""));
  const noun = one === "authorization" ? one : `${one.replace(/y$/, "ie")}s`;
  const request = JSON.stringify(made.request, null, 2).replace(/^(\s*)"(\w+)":/gm, "$1$2:");
  const options = made.organizationId
    ? `, { headers: { "x-service-orgid": ${JSON.stringify(made.organizationId)} } }`
    : "";
  return `await postern.${noun}.${lower(method)}(${request}${options});`;
}

const lower = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);
