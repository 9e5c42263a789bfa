import { ConnectError } from "@connectrpc/connect";
import { acceptsHtml, type HttpRequest, type Response } from "@postern/gateway";
import { RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { reasonOf } from "../../errors.ts";
import { plainBrand } from "./brand.ts";
import { languageOf } from "./language.ts";
import { hereOf } from "./look.ts";
import { errorPage, PageError } from "./page_error.ts";
import { noteRefusal } from "./request_notes.ts";

const limits: readonly (string | undefined)[] = ["RATE_LIMIT", "OVERLOADED"];

/**
 * The page for a browser whose address has made too many calls, or that comes while the node has too many; undefined for other clients and
 * errors.
 */
export function limitPage(error: unknown, http: HttpRequest): Response | undefined {
  if (!(error instanceof ConnectError) || !limits.includes(reasonOf(error))) return undefined;
  if (!acceptsHtml(http.headers.accept)) return undefined;
  noteRefusal(http.values, error);
  // What is over a limit costs no statement.
  const look = { language: languageOf(http), brand: plainBrand, here: hereOf(http) };
  const page = errorPage(new PageError("busy", {}, { status: 429 }), http, look);
  const seconds = error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds ?? 1n;
  return { ...page, headers: { ...page.headers, "retry-after": String(seconds) } };
}
