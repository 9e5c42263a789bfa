import { connectHttp2 } from "../../../../test/wire/http2.ts";

/** A response whose body was read as JSON. */
export type RestResponse = { readonly status: number; readonly json: Json };

type Json = Record<string, unknown> & { readonly details?: readonly Detail[] };
type Detail = Record<string, unknown> & {
  readonly fieldViolations?: readonly { field: string; reason: string; description: string }[];
};

/** Calls `POST /path`, with a body that is text, or is written as JSON. */
export async function callRest(
  { url }: { readonly url: string },
  line: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<RestResponse> {
  const [method = "", path = ""] = line.split(" ");
  const bytes = body instanceof Uint8Array ? body : Buffer.from(textOf(body));
  const type = bytes.length > 0 ? { "content-type": "application/json" } : {};
  using client = connectHttp2(url);
  const response = await client.send({ method, path, headers: { ...type, ...headers }, body: bytes });
  return { status: response.status, json: JSON.parse(String(response.body)) };
}

const textOf = (body: unknown) => (body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));

/** The wrong fields of a refusal, as `path REASON`. */
export function wrongFields({ json }: RestResponse): string[] {
  const violations = json.details?.flatMap(({ fieldViolations }) => fieldViolations ?? []) ?? [];
  return violations.map(({ field, reason }) => `${field} ${reason}`);
}

/** The reason of a refusal. */
export const reasonOf = ({ json }: RestResponse) => json.details?.[0]?.reason;

/** The fields of an echoed message that are not at their zero value. */
export function filled({ json }: Pick<RestResponse, "json">): Record<string, unknown> {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => !isZero(value)));
}

const isZero = (value: unknown) => [false, 0, "", "0", "KIND_NONE", "[]", "{}"].includes(zeroText(value));
const zeroText = (value: unknown) =>
  typeof value === "object" ? JSON.stringify(value) : (value as string | number | boolean);
