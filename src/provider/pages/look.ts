import { createContextKey } from "@connectrpc/connect";
import type { HttpRequest } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { queryMaxLength } from "../http/parameters.ts";
import type { Brand } from "./brand.ts";

/** The look that the pages of a request share: language, branding, cookies to set, and the address that opens them again. */
export type Look = {
  readonly language: Language;
  readonly brand: Brand;
  readonly cookies?: readonly string[];
  /** The path and query that open the page in another language; undefined if they would not show it again. */
  readonly here?: string | undefined;
};

/** The address that opens a page with an error again; undefined if a form led to it. */
export const hereOf = ({ method, path, query }: Pick<HttpRequest, "method" | "path" | "query">): string | undefined =>
  method === "GET" && query.length <= queryMaxLength ? `${path}${query && `?${query}`}` : undefined;

const brandKey = createContextKey<Brand | undefined>(undefined, { description: "whose page it is" });

/** Records the branding of a request's pages, for an error that is shown instead. */
export function noteBrand(values: HttpRequest["values"], brand: Brand): void {
  values.set(brandKey, brand);
}

export const notedBrand = (values: HttpRequest["values"]): Brand | undefined => values.get(brandKey);
