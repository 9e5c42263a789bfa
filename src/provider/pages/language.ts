import type { HttpRequest, Response } from "@postern/gateway";
import { keys } from "../../deps.ts";
import { chooseLanguage, type Language } from "../../messages/catalogue.ts";
import { languages } from "../../messages/language.ts";
import type { CookieJar } from "../http/cookies.ts";
import { redirect } from "../http/redirect.ts";
import { later } from "../http/settings.ts";

type Visit = Pick<HttpRequest, "values" | "headers">;

/**
 * The language of a request's pages and mails: the one that was picked on a page of ours, otherwise the browser's. It is chosen once, and
 * stands in the request's context; the log line of an unknown path has put the browser's there, so a picked one is looked for first.
 */
export const languageOf = (visit: Visit): Language =>
  kept(
    visit,
    pickedIn(visit) ?? visit.values.get(keys.language) ?? chooseLanguage(visit.headers["accept-language"]) ?? "en",
  );

/** Chooses the language by what an application asks for in `ui_locales`, which comes after a picked one and before the browser's. */
export function languageFor(visit: Visit, uiLocales = ""): Language {
  const asked = chooseLanguage(uiLocales.slice(0, longest).trim().split(/ +/).join(","));
  return asked === undefined || pickedIn(visit) !== undefined ? languageOf(visit) : kept(visit, asked);
}

function kept({ values }: Visit, language: Language): Language {
  values.set(keys.language, language);
  return language;
}

const pickedIn = ({ headers }: Visit): Language | undefined => languageNamed(inCookie.exec(headers.cookie ?? "")?.[1]);

const longest = 200;

// Also read where the issuer, and with it the prefix of our cookies, is unknown. A forged one does no harm.
const inCookie = /(?:^|;) *(?:__Host-)?postern-language=([a-z]{2})(?: *;|$)/;

const languageNamed = (name: string | null | undefined) => languages.find((language) => language === name);

const parameter = "page_language";
const keptSeconds = 365 * 24 * 3600;

/** The link that opens a page in another language. */
export const linkIn = (language: Language, here: string): string =>
  `${here}${here.includes("?") ? "&" : "?"}${parameter}=${language}`;

/** The cookie by which the browser keeps a language. */
export const languageCookie = (jar: CookieJar, language: Language, now: Date): string =>
  jar.set("language", language, later(now, keptSeconds));

/** Follows such a link: the browser keeps the language, and opens the page without the parameter. */
export function switched(http: HttpRequest, jar: CookieJar, now: Date): Response | undefined {
  const { method, path, query } = http;
  const language = method === "GET" ? languageNamed(new URLSearchParams(query).get(parameter)) : undefined;
  if (!language) return undefined;
  const rest = query.split("&").filter((part) => !isParameter(part));
  const location = rest.length === 0 ? path : `${path}?${rest.join("&")}`;
  return redirect(location, { cookies: [languageCookie(jar, language, now)] });
}

/** Whether a part of a query is the parameter, however its name is encoded. Only names long enough to be it are decoded. */
function isParameter(part: string): boolean {
  const [name = ""] = part.split("=", 1);
  if (name.length <= parameter.length) return name === parameter;
  return name.includes("%") && new URLSearchParams(name).has(parameter);
}
