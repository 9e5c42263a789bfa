import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import type { Deps } from "../../deps.ts";
import { retry } from "../../guards/retry.ts";
import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import type { RequestProblem } from "../../messages/request_problem.ts";
import { cookieJar } from "../http/cookies.ts";
import { MalformedRequest, OauthError } from "../http/oauth_error.ts";
import { type Brand, plainBrand } from "./brand.ts";
import { type Brands, brandsRead } from "./brand_read.ts";
import { languageOf, switched } from "./language.ts";
import { hereOf, notedBrand } from "./look.ts";
import { errorPage, PageError } from "./page_error.ts";
import { isOutage, noteFailure } from "./request_notes.ts";

/**
 * Makes the route of a page, which runs again if it lost a race, as calls do. An error that cannot be sent elsewhere is shown on a page
 * that looks like the one it replaces.
 */
export function shownRoute({ sql, clock }: Pick<Deps, "sql" | "clock">, issuer: () => string) {
  const [brands, jar] = [brandsRead(sql), cookieJar(issuer)];
  return (route: HttpRoute): HttpRoute => ({
    ...route,
    async handle(http) {
      try {
        const answer = async () => switched(http, jar, clock()) ?? route.handle(http);
        return await retry(answer, { signal: neverAborted });
      } catch (error) {
        return failed(http, error, brands);
      }
    },
  });
}

async function failed(http: HttpRequest, error: unknown, brands: Brands): Promise<Response> {
  const language = languageOf(http);
  const shown = pageErrorOf(error, language);
  noteFailure(http.values, shown.problem, error);
  const brand = notedBrand(http.values) ?? (await brandBeside(error, brands));
  return errorPage(shown, http, { language, brand, here: hereOf(http) });
}

/** The branding of an error's page: none if the database is away, because asking for one would take as long again. */
const brandBeside = (error: unknown, brands: Brands): Brand | Promise<Brand> =>
  isOutage(error) ? plainBrand : brands.ofInstance().catch(() => plainBrand);

/** The page error that stands for another error. The description of an OAuth error stays as applications receive it. */
function pageErrorOf(error: unknown, language: Language): PageError {
  if (error instanceof PageError) return error;
  if (!(error instanceof OauthError)) return new PageError("busy", {}, { status: 503 });
  if (error instanceof MalformedRequest) return malformed(error.problem);
  const { code, description } = error;
  return malformed({ key: "oauth_error", params: { error: code } }, description);

  function malformed({ key, params }: RequestProblem, description?: string): PageError {
    return new PageError("request_malformed", { problem: pageText(key, language, params) }, { description });
  }
}

// A page whose browser has disconnected ends by itself, with another error.
const neverAborted = new AbortController().signal;
