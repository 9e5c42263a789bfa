import { createContextKey } from "@connectrpc/connect";
import type { HttpRequest } from "@postern/gateway";
import { chooseLanguage, type Language } from "../../messages/catalogue.ts";

const chosen = createContextKey<Language | undefined>(undefined, { description: "language of the browser" });

/** The language that the request's browser prefers, chosen once and kept in the request's context. */
export function browserLanguage({ values, headers }: Pick<HttpRequest, "values" | "headers">): Language {
  const before = values.get(chosen);
  if (before) return before;
  const language = chooseLanguage(headers["accept-language"]) ?? "en";
  values.set(chosen, language);
  return language;
}
