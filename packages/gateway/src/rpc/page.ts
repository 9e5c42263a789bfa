import type { ConnectError, ContextValues } from "@connectrpc/connect";
import type { Fields } from "../header_fields.ts";
import type { Exchange, Response } from "../http/exchange.ts";

/** A refused request from a browser that will show the response to a person. */
export type RefusedVisit = { readonly path: string; readonly headers: Fields; readonly values: ContextValues };

/** Makes the page for an error; undefined leaves it as JSON. */
export type PageOf = (refusal: ConnectError, visit: RefusedVisit) => Response | undefined;

/** Whether a browser requests a page. JSON clients send no accept header, or accept anything; browsers name the type. */
export const asksForPage = ({ method, headers }: Pick<Exchange, "method" | "headers">): boolean =>
  ["GET", "HEAD"].includes(method) && acceptsHtml(headers.accept);

/** Whether a client explicitly accepts HTML. */
export const acceptsHtml = (accept = ""): boolean =>
  accept
    .toLowerCase()
    .split(",")
    .some((range) => /^\s*text\/html\s*(;|$)/.test(range) && !/;\s*q=0(\.0*)?\s*$/.test(range));
