import type { Sql } from "../postgres/connect.ts";
import { originFault, originOf } from "../services/web_origin.ts";
import type { Client } from "./client.ts";

/** The headers that let pages of any origin read a document. */
export const forAnyOrigin = { "access-control-allow-origin": "*" } as const;

/** The headers that let a page of an origin read a response; never with credentials, as no cookie counts here. */
export const forOrigin = (origin: string | undefined) => ({
  vary: "origin",
  ...(origin === undefined
    ? {}
    : { "access-control-allow-origin": origin, "access-control-expose-headers": "www-authenticate" }),
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

/** Makes the check whether any application has an origin: preflights name no client. Each answer is remembered for a moment. */
export function registeredOrigins(sql: Sql) {
  const known = new Map<string, { readonly until: number; readonly isRegistered: Promise<boolean> }>();
  return (origin: string | undefined): Promise<boolean> => {
    if (origin === undefined || origin.length > 300 || originFault(origin) !== undefined) return Promise.resolve(false);
    const name = originOf(origin);
    const before = known.get(name);
    if (before && before.until > performance.now()) return before.isRegistered;
    if (known.size >= mostRemembered) known.clear();
    const isRegistered = isOrigin(sql, name);
    known.set(name, { until: performance.now() + rememberedMs, isRegistered });
    isRegistered.catch(() => known.delete(name));
    return isRegistered;
  };
}

async function isOrigin(sql: Sql, origin: string): Promise<boolean> {
  const rows = await sql`select from applications a where origins_of(a.oidc) @> array[${origin}::text] limit 1`;
  return rows.length > 0;
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
          "access-control-allow-headers": "authorization, content-type",
          "access-control-max-age": "600",
        }),
  },
});
