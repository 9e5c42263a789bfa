import type { ContextValues } from "@connectrpc/connect";
import type { Fields } from "../header_fields.ts";
import type { Response, ResponseFields } from "../http/exchange.ts";

/** The pages of other origins that may call and read responses. */
export type Cors = {
  /** The CORS headers of a response to a page of the origin; undefined if origins do not matter. */
  readonly headersFor: (origin: string | undefined, values: ContextValues) => ResponseFields | undefined;
  /** Finds the CORS headers of an error; undefined if they are the same as for any response. */
  readonly refusalHeadersFor: (
    origin: string | undefined,
    values: ContextValues,
  ) => Promise<ResponseFields> | undefined;
  /** Responds to a preflight; undefined if OPTIONS is a method like any other. */
  readonly preflight: (request: Fields, values: ContextValues) => Promise<Response | undefined>;
};

/** Origins that are only known when a request arrives, in addition to the listed ones. */
export type CallerOrigins = {
  /** Whether a preflight from a page of the origin passes. It has no token, so its caller is unknown. May throw an error. */
  readonly mayAsk: (origin: string, values: ContextValues) => Promise<boolean>;
  /** Whether a page of the origin may read the response to the call with these values. */
  readonly mayRead: (origin: string, values: ContextValues) => boolean;
  /** Decides whether a page that `mayRead` excludes may read an error, whose caller may be unknown; undefined if it may not. */
  readonly mayReadRefusal: (origin: string, values: ContextValues) => Promise<boolean> | undefined;
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

/** Lets pages of these origins, and of the caller's, read our responses; `*` stands for every origin. Undefined if there is none. */
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

    refusalHeadersFor(origin, values) {
      if (!origin || isListed(origin) || callers?.mayRead(origin, values)) return undefined;
      const pending = callers?.mayReadRefusal(origin, values);
      return pending?.then((mayRead) => (mayRead ? { ...varies, ...readableBy(origin) } : varies));
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

/** The response to a successful preflight. */
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
