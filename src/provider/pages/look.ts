import { createContextKey } from "@connectrpc/connect";
import type { HttpRequest } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import type { Brand } from "./brand.ts";

/** What all pages of a request share: their language, whose pages they are, the cookies to set, and where they can be opened again. */
export type Look = {
  readonly language: Language;
  readonly brand: Brand;
  readonly cookies?: readonly string[];
  /** The path and query that open the page in another language; undefined if they would not show it again. */
  readonly here?: string | undefined;
};

const brandKey = createContextKey<Brand | undefined>(undefined, { description: "whose page it is" });

/** Records whose pages those of a request are, for an error that is shown instead. */
export function noteBrand(values: HttpRequest["values"], brand: Brand): void {
  values.set(brandKey, brand);
}

export const notedBrand = (values: HttpRequest["values"]): Brand | undefined => values.get(brandKey);
