import type { HttpRequest } from "@postern/gateway";
import { PageError } from "./page_error.ts";

/** Browsers name the origin of a form; one of another site is refused before anything is read. */
export function refuseForeign({ headers }: HttpRequest, issuer: string): void {
  if (headers.origin !== undefined && headers.origin !== issuer) throw new PageError("expired", {}, 403);
}
