import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { originFault, originOf } from "../../services/applications/web_origin.ts";
import type { Client } from "./client.ts";

/** Lets pages of any origin read a document. */
export const forAnyOrigin = { "access-control-allow-origin": "*" } as const;

/** Lets pages of an origin read a response; never with credentials, because no cookie matters here. */
export const forOrigin = (origin: string | undefined) => ({
  vary: "origin",
  ...(origin === undefined
    ? {}
    : { "access-control-allow-origin": origin, "access-control-expose-headers": "www-authenticate, retry-after" }),
});

/** The origin of a request, if it belongs to the client: an additional origin, or that of a redirect URI. */
export function allowedOrigin(origin: string | undefined, { oidc }: Client): string | undefined {
  if (origin === undefined || origin === "null") return undefined;
  const ofUris = () =>
    oidc.redirectUris.some((uri) => /^https?:/i.test(uri) && URL.canParse(uri) && new URL(uri).origin === origin);
  return oidc.additionalOrigins.includes(origin) || ofUris() ? origin : undefined;
}

const rememberedMs = 10_000;
const mostRemembered = 1_000;
const mostUnderWay = 1_000;

/** Whether any application has this origin. */
export type IsRegistered = (origin: string | undefined) => Promise<boolean>;

/** Makes the check whether any application has an origin, because preflights name no client. Results are cached for a moment. */
export function registeredOrigins(sql: Sql): IsRegistered {
  const isOrigin = originRead(sql);
  const known = new Map<string, { readonly until: number; readonly isRegistered: Promise<boolean> }>();
  let underWay = 0;
  return (origin) => {
    if (origin === undefined || origin.length > 300 || originFault(origin) !== undefined) return Promise.resolve(false);
    const name = originOf(origin);
    const before = known.get(name);
    if (before && before.until > performance.now()) return before.isRegistered;
    // Failing requests trigger this check too, and must not build up a queue.
    if (underWay >= mostUnderWay) return Promise.resolve(false);
    if (known.size >= mostRemembered) known.clear();
    underWay++;
    const isRegistered = isOrigin(name).finally(() => {
      underWay--;
    });
    known.set(name, { until: performance.now() + rememberedMs, isRegistered });
    isRegistered.catch(() => known.delete(name));
    return isRegistered;
  };
}

function originRead(sql: Sql) {
  const read = loadOne<{ origin: string }, object>(sql, {
    asked: "origin text",
    select: `select n from asked
      where is_origin(asked.origin)`,
  });
  return async (origin: string): Promise<boolean> => (await read({ origin })) !== undefined;
}

const longestWaitMs = 1_000;

/**
 * Whether a page may read an error if the request's client is unknown. False if there is no quick answer, so that errors do not wait for an
 * unavailable database.
 */
export async function mayReadRefusal(isRegistered: IsRegistered, origin: string | undefined): Promise<boolean> {
  if (origin === undefined) return false;
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(late.resolve, longestWaitMs, false);
  try {
    return await Promise.race([isRegistered(origin), late.promise]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

export const preflightResponse = (origin: string | undefined) => ({
  status: 204,
  headers: {
    ...forOrigin(origin),
    ...(origin === undefined
      ? {}
      : {
          "access-control-allow-methods": "GET, POST",
          // Swagger UI sends x-requested-with to the token endpoint. It has no effect here.
          "access-control-allow-headers": "authorization, content-type, dpop, x-requested-with",
          "access-control-max-age": "600",
        }),
  },
});
