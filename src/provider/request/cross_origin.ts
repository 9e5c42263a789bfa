import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { originFault, originOf } from "../../services/applications/web_origin.ts";
import type { Client } from "./client.ts";

/** The headers that let pages of any origin read a document. */
export const forAnyOrigin = { "access-control-allow-origin": "*" } as const;

/** The headers that let a page of an origin read a response; never with credentials, as no cookie counts here. */
export const forOrigin = (origin: string | undefined) => ({
  vary: "origin",
  ...(origin === undefined
    ? {}
    : { "access-control-allow-origin": origin, "access-control-expose-headers": "www-authenticate, retry-after" }),
});

/** The origin of a request, if it is one of the client's: an additional one, or that of a redirect URI. */
export function allowedOrigin(origin: string | undefined, { oidc }: Client): string | undefined {
  if (origin === undefined || origin === "null") return undefined;
  const ofUris = () =>
    oidc.redirectUris.some((uri) => /^https?:/i.test(uri) && URL.canParse(uri) && new URL(uri).origin === origin);
  return oidc.additionalOrigins.includes(origin) || ofUris() ? origin : undefined;
}

const rememberedMs = 10_000;
const mostRemembered = 1_000;
const mostUnderWay = 1_000;

/** Whether any application has an origin. */
export type IsRegistered = (origin: string | undefined) => Promise<boolean>;

/** Makes the check whether any application has an origin: preflights name no client. Each answer is remembered for a moment. */
export function registeredOrigins(sql: Sql): IsRegistered {
  const isOrigin = originRead(sql);
  const known = new Map<string, { readonly until: number; readonly isRegistered: Promise<boolean> }>();
  let underWay = 0;
  return (origin) => {
    if (origin === undefined || origin.length > 300 || originFault(origin) !== undefined) return Promise.resolve(false);
    const name = originOf(origin);
    const before = known.get(name);
    if (before && before.until > performance.now()) return before.isRegistered;
    // Requests that are refused ask too: they must not make a queue.
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
 * Whether a page may read a refusal of a request whose client is unknown; false where the answer does not come soon, as a refusal does not
 * wait for a database that is away.
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

/** The answer to a preflight. */
export const preflightResponse = (origin: string | undefined) => ({
  status: 204,
  headers: {
    ...forOrigin(origin),
    ...(origin === undefined
      ? {}
      : {
          "access-control-allow-methods": "GET, POST",
          // Swagger UI sends x-requested-with to the token endpoint. It changes nothing here.
          "access-control-allow-headers": "authorization, content-type, x-requested-with",
          "access-control-max-age": "600",
        }),
  },
});
