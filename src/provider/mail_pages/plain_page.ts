import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { newToken } from "../../security/token.ts";
import { type CookieName, cookieJar, isCookieValue } from "../http/cookies.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "../http/parameters.ts";
import { keepsOpener } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { later } from "../http/settings.ts";
import type { Brand } from "../pages/brand.ts";
import { problemsOf } from "../pages/field.ts";
import { type Html, hidden, html, nothing, pageResponse } from "../pages/html.ts";
import { languageFor } from "../pages/language.ts";
import { noteBrand } from "../pages/look.ts";
import { refuseForeign } from "../pages/own_address.ts";
import type { ProviderParts } from "../parts.ts";
import type { ProvenRequest } from "../request/authorization_request.ts";
import { formExpired } from "../request/begin_again.ts";
import { formToken, freshRequest, isFormToken } from "../request/sealed_request.ts";
import { pageOwners } from "./page_brand.ts";

/** A request for a page that is not part of a sign-in, with the contents of its cookies. */
export type PlainPage = {
  readonly http: HttpRequest;
  readonly path: string;
  readonly language: Language;
  /** The query of the authorization request that continues afterwards. */
  readonly pending: string | undefined;
  readonly brand: Brand;
  /** The same request, once client and redirect URI are proven; undefined if they cannot be. */
  readonly proven?: ProvenRequest;
  /** The organization that this request is for, before it is checked. */
  readonly organizationId: string | undefined;
  readonly cookie: (name: CookieName) => string | undefined;
  /** The tokens by which the browser is known to users. */
  readonly known: readonly string[];
  /** Makes the header that stores a value for an hour; none if the browser would not store it. */
  readonly keep: (name: KeptName, value: string) => readonly string[];
  readonly drop: (name: CookieName) => string;
  /** The headers and hidden fields for a form on the page. */
  readonly form: { readonly cookies: readonly string[]; readonly hidden: Html };
};

/** The values that a browser keeps for a page: the code or the sealed link of a mail, and the request that continues afterwards. */
type KeptName = "code" | "link" | "mailed" | "invitation" | "registration" | "administrator" | "request";

/** A page at a path: how it is shown, and what its form does. */
export type PlainRoute = {
  readonly path: string;
  readonly show: (page: PlainPage) => Response | Promise<Response>;
  readonly submit: (page: PlainPage, form: Parameters) => Promise<Response>;
};

export function plainRoute(parts: ProviderParts, { path, show, submit }: PlainRoute): HttpRoute {
  const open = plainPages(parts);
  const ownerOf = pageOwners(parts);
  return {
    path,
    methods: ["GET", "HEAD", "POST"],
    bodyMaxBytes: formMaxBytes,
    async handle(http) {
      const opened = open(http, path);
      const page = { ...opened, ...(await ownerOf(opened)) };
      noteBrand(http.values, page.brand);
      return http.method === "POST" ? submit(page, formOf(page, parts)) : show(page);
    },
  };
}

const keptSeconds = 3600;

function plainPages({ deps, issuer }: ProviderParts) {
  const { clock, secrets } = deps;
  const jar = cookieJar(issuer);
  return (http: HttpRequest, path: string): Omit<PlainPage, "brand" | "proven" | "organizationId"> => {
    const cookie = (name: CookieName) => jar.read(http.headers.cookie, name);
    const browser = cookie("browser") ?? newToken("ob");
    const pending = freshRequest(secrets.keyring, cookie("request"), clock());
    const token = formToken(secrets.keyring, { browser, request: "", sessionId: "" });
    const language = languageFor(http, parametersIn(pending ?? "").get("ui_locales"));
    return {
      http,
      path,
      language,
      pending,
      cookie,
      known: jar.readKnown(http.headers.cookie),
      keep: (name, value) => (isCookieValue(name, value) ? [jar.set(name, value, later(clock(), keptSeconds))] : []),
      drop: (name) => jar.set(name, "", new Date(0)),
      form: { cookies: [jar.set("browser", browser)], hidden: hidden("token", token) },
    };
  };
}

/** Reads a form; fails if it comes from another site, or was shown in another browser. */
function formOf({ http, path, cookie }: PlainPage, { deps, issuer }: ProviderParts): Parameters {
  refuseForeign(http, issuer());
  const form = formIn(http.headers, http.body);
  const of = { browser: cookie("browser") ?? "", request: form.get("request") ?? "", sessionId: "" };
  if (!isFormToken(deps.secrets.keyring, of, form.get("token"))) throw formExpired(path);
  return form;
}

/**
 * Moves a link's code from its query into a cookie, so that it stays out of the history, the referrer and any log after ours. A fragment
 * would not do: pages have to work without scripts.
 */
export function codeMoved(
  page: PlainPage,
  name: Exclude<KeptName, "request">,
  read: (code: string) => string,
): Response | undefined {
  const code = parametersIn(page.http.query).get("code");
  if (code === undefined) return undefined;
  return redirect(page.path, { cookies: page.keep(name, read(code)) });
}

/** Whether the query of a page contains this word, which the page put there itself. */
export const hasWord = ({ http }: PlainPage, word: string): boolean => parametersIn(http.query).get(word) !== undefined;

export type PlainContent = {
  readonly status?: number;
  readonly title: PageText;
  readonly texts?: readonly PageText[];
  readonly problems?: readonly string[];
  readonly body?: Html;
  readonly cookies?: readonly string[];
};

export function plainResponse({ http, language, form, brand, path }: PlainPage, content: PlainContent): Response {
  const { status = 200, title, texts = [], problems = [], body = nothing, cookies = [] } = content;
  // A form that succeeded is not submitted again.
  const here = http.method === "POST" && status === 200 ? undefined : `${path}${http.query && `?${http.query}`}`;
  const look = { language, brand, here, cookies: [...form.cookies, ...cookies] };
  return pageResponse(look, {
    status,
    keepsOpener: keepsOpener(path),
    title: pageText(title, language),
    body: html`${texts.map((text) => html`<p>${pageText(text, language)}</p>`)}
${problemsOf(problems)}
${body}`,
  });
}
