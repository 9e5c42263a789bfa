import type { Response, ResponseFields } from "../http/exchange.ts";
import type { Fields } from "./header_fields.ts";

/** What a browser is told about a response that a page of this origin asked for. */
export type Cors = (origin: string | undefined) => ResponseFields;

const exposed = [
  "grpc-status, grpc-message, grpc-status-details-bin, grpc-encoding, content-encoding, connect-content-encoding",
  "x-request-id, retry-after, allow, www-authenticate",
].join(", ");

const varies = { vary: "origin" };

/** Lets pages of these origins read our responses; `*` is every origin. Undefined when there is none. */
export function corsFor(origins: readonly string[]): Cors | undefined {
  const [everyone, known] = [origins.includes("*"), new Set(origins)];
  if (origins.length === 0) return undefined;
  return (origin) => {
    // No cookies are involved: whoever calls brings a token of its own.
    if (everyone) return { "access-control-allow-origin": "*", "access-control-expose-headers": exposed };
    if (!origin || !known.has(origin)) return varies;
    return { ...varies, "access-control-allow-origin": origin, "access-control-expose-headers": exposed };
  };
}

/** Whether a browser asks if a page may call. */
export const isPreflight = (method: string, headers: Fields): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

/** The response to a preflight, without the headers that every response gets. */
export function preflight(cors: ResponseFields, wanted: string | undefined): Response {
  if (!cors["access-control-allow-origin"]) return { status: 204, headers: {} };
  const headers = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    ...(wanted && /^[\w, -]*$/.test(wanted) && { "access-control-allow-headers": wanted }),
    "access-control-max-age": "7200",
  };
  return { status: 204, headers };
}
