import type { HttpRequest } from "@postern/gateway";
import { keys } from "../../deps.ts";
import { chooseLanguage, type Language } from "../../messages/catalogue.ts";

/**
 * Chooses the language of a request's pages and mails: the first that the application asks for, otherwise the browser's. The request's
 * context keeps it, so whatever comes later has the same.
 */
export function chosenLanguage(
  { values, headers }: Pick<HttpRequest, "values" | "headers">,
  uiLocales?: string,
): Language {
  const before = values.get(keys.language);
  if (before && uiLocales === undefined) return before;
  const asked = (uiLocales ?? "").slice(0, longest).trim().split(/ +/).join(",");
  const language = chooseLanguage(asked) ?? chooseLanguage(headers["accept-language"]) ?? "en";
  values.set(keys.language, language);
  return language;
}

const longest = 200;
