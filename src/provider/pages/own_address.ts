import type { HttpRequest, HttpRoute } from "@postern/gateway";
import { isLoopback } from "../http/issuer.ts";
import { redirect } from "../http/redirect.ts";
import { PageError } from "./page_error.ts";
import { shown } from "./shown.ts";

/** Browsers name the origin of a form; one of another site, or of ours at another address, is refused before anything is read. */
export function refuseForeign({ headers }: HttpRequest, issuer: string): void {
  const { origin } = headers;
  if (origin === undefined || origin === issuer) return;
  const isOurs = headers["sec-fetch-site"] === "same-origin" || origin.endsWith(`://${hostIn(headers)}`);
  throw isOurs ? wrongAddress(issuer) : new PageError("expired", {}, { status: 403 });
}

/** The issuer, and the setting that names it. */
type Address = { readonly issuer: () => string; readonly settings: { readonly publicUrl: string | undefined } };

/**
 * Makes the route of a page that is opened at the address of the issuer alone: cookies belong to a host, and forms name their origin. Where
 * PUBLIC_URL is set, its form finds out: a proxy in front may send a host of its own.
 */
export const atOwnAddress =
  ({ issuer, settings }: Address) =>
  (route: HttpRoute): HttpRoute => ({
    ...route,
    async handle(http) {
      const { headers, path, query } = http;
      const isOpened = http.method !== "POST" && settings.publicUrl === undefined;
      const place = isOpened ? placeOf(headers, new URL(issuer())) : "here";
      if (place === "here") return route.handle(http);
      if (place === "loopback") return redirect(`${issuer()}${path}${query && `?${query}`}`, { cookies: [] });
      return shown(http, {}, () => Promise.reject(wrongAddress(issuer())));
    },
  });

const wrongAddress = (issuer: string) => new PageError("wrong_address", { issuer }, { status: 403 });

/** Where a browser has opened a page: at the issuer, at another name of its loopback address, or elsewhere. */
function placeOf(headers: HttpRequest["headers"], issuer: URL): "here" | "loopback" | "elsewhere" {
  const url = `${issuer.protocol}//${hostIn(headers) ?? issuer.host}`;
  if (!URL.canParse(url)) return "elsewhere";
  const { host: opened, hostname, port } = new URL(url);
  if (opened === issuer.host) return "here";
  const isProxied = forwarding.some((name) => headers[name] !== undefined);
  return isLoopback(hostname) && port === issuer.port && !isProxied ? "loopback" : "elsewhere";
}

/** The host that a browser asked. Anybody can name one, but learns by it only where the pages are: so no proxy has to be trusted for it. */
function hostIn(headers: HttpRequest["headers"]): string | undefined {
  const [outer] = headers["x-forwarded-host"]?.split(",") ?? [];
  return outer?.trim() ?? headers[":authority"] ?? headers.host;
}

/** The fields by which a proxy tells of itself. */
const forwarding = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"] as const;
