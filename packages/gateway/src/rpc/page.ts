import type { ConnectError, ContextValues } from "@connectrpc/connect";
import type { Fields } from "../header_fields.ts";
import type { Exchange, Response } from "../http/exchange.ts";

/** A refused request of a browser that shows the answer to a person. */
export type RefusedVisit = { readonly path: string; readonly headers: Fields; readonly values: ContextValues };

/** Makes the page of a refusal; undefined leaves it in JSON. */
export type PageOf = (refusal: ConnectError, visit: RefusedVisit) => Response | undefined;

/** Whether a request is that of a browser for a page. Clients of JSON send no accept header, or accept anything; browsers name the type. */
export const asksForPage = ({ method, headers }: Pick<Exchange, "method" | "headers">): boolean =>
  ["GET", "HEAD"].includes(method) && acceptsHtml(headers.accept);

/** Whether a client names HTML among what it accepts. */
export const acceptsHtml = (accept = ""): boolean =>
  accept
    .toLowerCase()
    .split(",")
    .some((range) => /^\s*text\/html\s*(;|$)/.test(range) && !/;\s*q=0(\.0*)?\s*$/.test(range));
