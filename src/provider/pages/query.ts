import type { HttpRequest, Response } from "@postern/gateway";
import { queryMaxLength } from "../http/parameters.ts";
import { redirect } from "../http/redirect.ts";
import { PageError } from "./page_error.ts";

const formType = "application/x-www-form-urlencoded";

/**
 * Redirects a POST to a GET with the same parameters: from another site, browsers send SameSite=Lax cookies only with a GET. Repeated
 * parameters stay repeated, and are refused there.
 */
export function asGet({ headers, body }: HttpRequest, path: string): Response {
  const query = new URLSearchParams(Buffer.from(body).toString("utf8")).toString();
  refuseLong(query);
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== formType) throw new PageError("request_malformed", { problem: `the body is not ${formType}` });
  return redirect(`${path}?${query}`, { cookies: [] });
}

/** Refuses a query that is too long for our pages, whose forms return it as JSON, sealed. */
export function refuseLong(query: string): void {
  if (JSON.stringify(query).length - 2 > queryMaxLength)
    throw new PageError("request_malformed", {
      problem: `its parameters are longer than ${queryMaxLength} characters`,
    });
}
