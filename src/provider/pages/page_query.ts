import type { HttpRequest, Response } from "@postern/gateway";
import { MalformedRequest } from "../http/oauth_error.ts";
import { queryMaxLength, refuseOtherType } from "../http/parameters.ts";
import { redirect } from "../http/redirect.ts";

/**
 * Redirects a POST to a GET with the same parameters: from another site, browsers send SameSite=Lax cookies only with a GET. Repeated
 * parameters stay repeated, and are refused there.
 */
export function asGet({ headers, body }: HttpRequest, path: string): Response {
  const query = new URLSearchParams(Buffer.from(body).toString("utf8")).toString();
  refuseLong(query);
  refuseOtherType(headers);
  return redirect(`${path}?${query}`, { cookies: [] });
}

/** Refuses a query that is too long for our pages, whose forms return it as JSON, sealed. */
export function refuseLong(query: string): void {
  if (JSON.stringify(query).length - 2 > queryMaxLength)
    throw new MalformedRequest({ key: "parameters_long", params: { count: String(queryMaxLength) } });
}
