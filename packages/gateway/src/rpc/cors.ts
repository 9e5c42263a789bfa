import type { Response, ResponseFields } from "../http/exchange.ts";
import type { Fields } from "./header_fields.ts";

/** Returns the CORS headers of a response to a page of an origin. */
export type Cors = (origin: string | undefined) => ResponseFields;

const exposedHeaders = [
  "grpc-status, grpc-message, grpc-status-details-bin, grpc-encoding, content-encoding, connect-content-encoding",
  "x-request-id, retry-after, ratelimit, ratelimit-policy, allow, www-authenticate",
].join(", ");

const varies = { vary: "origin" };

/** Lets pages of these origins read our responses; `*` is every origin. Undefined when there is none. */
export function corsFor(origins: readonly string[]): Cors | undefined {
  const [allowsAll, allowed] = [origins.includes("*"), new Set(origins)];
  if (origins.length === 0) return undefined;
  return (origin) => {
    // No cookies are involved: every caller sends a token.
    if (allowsAll) return { "access-control-allow-origin": "*", "access-control-expose-headers": exposedHeaders };
    if (!origin || !allowed.has(origin)) return varies;
    return { ...varies, "access-control-allow-origin": origin, "access-control-expose-headers": exposedHeaders };
  };
}

/** Whether a request is a CORS preflight. */
export const isPreflight = (method: string, headers: Fields): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

/** The response to a preflight, without the headers that every response gets. */
export function preflight(cors: ResponseFields, requestHeaders: string | undefined): Response {
  if (!cors["access-control-allow-origin"]) return { status: 204, headers: {} };
  const headers = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    ...(requestHeaders && /^[\w, -]*$/.test(requestHeaders) && { "access-control-allow-headers": requestHeaders }),
    "access-control-max-age": "7200",
  };
  return { status: 204, headers };
}
