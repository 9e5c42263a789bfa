import type { ContextValues } from "@connectrpc/connect";
import type { Fields } from "../header_fields.ts";
import type { Response, ResponseFields } from "../http/exchange.ts";

/** The pages of other origins that may call, and read what they are answered. */
export type Cors = {
  /** Returns the CORS headers of a response to a page of the origin; undefined where origins do not matter. */
  readonly headersFor: (origin: string | undefined, values: ContextValues) => ResponseFields | undefined;
  /** Answers a preflight; undefined where OPTIONS is a method like any other. */
  readonly preflight: (request: Fields, values: ContextValues) => Promise<Response | undefined>;
};

/** Origins that are known only when a request comes, besides the listed ones. */
export type CallerOrigins = {
  /** Whether a preflight of a page of the origin passes: without a token its caller is unknown. It may throw a refusal. */
  readonly mayAsk: (origin: string, values: ContextValues) => Promise<boolean>;
  /** Whether a page of the origin may read the response to the call of these values. */
  readonly mayRead: (origin: string, values: ContextValues) => boolean;
};

const exposedHeaders = [
  "grpc-status, grpc-message, grpc-status-details-bin, grpc-encoding, content-encoding, connect-content-encoding",
  "x-request-id, retry-after, ratelimit, ratelimit-policy, allow, www-authenticate",
].join(", ");

const varies = { vary: "origin" };

// No cookies are involved: every caller sends a token.
const readableBy = (origin: string) => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": exposedHeaders,
});

/** Lets pages of these origins, and of those of a caller, read our responses; `*` is every origin. Undefined when there is none. */
export function corsFor(origins: readonly string[], callers?: CallerOrigins): Cors | undefined {
  const [allowsAll, allowed] = [origins.includes("*"), new Set(origins)];
  if (origins.length === 0 && !callers) return undefined;
  const isListed = (origin: string) => allowsAll || allowed.has(origin);

  return {
    headersFor(origin, values) {
      if (allowsAll) return readableBy("*");
      if (!origin) return origins.length > 0 ? varies : undefined;
      return isListed(origin) || callers?.mayRead(origin, values) ? { ...varies, ...readableBy(origin) } : varies;
    },

    async preflight({ origin = "", "access-control-request-headers": requestHeaders }, values) {
      if (isListed(origin)) return permission(allowsAll ? "*" : origin, requestHeaders);
      if (origin && (await callers?.mayAsk(origin, values))) return permission(origin, requestHeaders);
      return origins.length > 0 ? { status: 204, headers: varies } : undefined;
    },
  };
}

/** Whether a request is a CORS preflight. */
export const isPreflight = (method: string, headers: Fields): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

/** The response to a preflight that passes. */
function permission(origin: string, requestHeaders: string | undefined): Response {
  const headers = {
    ...(origin === "*" ? {} : varies),
    ...readableBy(origin),
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    ...(requestHeaders && /^[\w, -]*$/.test(requestHeaders) && { "access-control-allow-headers": requestHeaders }),
    "access-control-max-age": "7200",
  };
  return { status: 204, headers };
}
