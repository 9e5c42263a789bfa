import type { HttpRequest, HttpRoute } from "@postern/gateway";
import { keys } from "../../deps.ts";
import { isLoopback } from "../http/issuer.ts";
import { redirect } from "../http/redirect.ts";
import { PageError } from "./page_error.ts";

/**
 * Browsers send the origin of a form. If it is another site, or ours at another address, the request is refused before anything is read.
 */
export function refuseForeign({ headers }: HttpRequest, issuer: string): void {
  const { origin } = headers;
  if (origin === undefined || origin === issuer) return;
  const isOurs = headers["sec-fetch-site"] === "same-origin" || origin.endsWith(`://${hostIn(headers)}`);
  throw isOurs ? wrongAddress(issuer) : new PageError("expired", {}, { status: 403 });
}

type Address = { readonly issuer: () => string; readonly settings: { readonly publicUrl: string | undefined } };

/**
 * Makes the route of a page that only opens at the issuer's address, because cookies belong to a host and forms send their origin. If
 * PUBLIC_URL is set, the check is left to the form: a proxy in front may send a different host.
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
      throw wrongAddress(issuer());
    },
  });

const wrongAddress = (issuer: string) => new PageError("wrong_address", { issuer }, { status: 403 });

/** The place where a browser opened a page: the issuer, another name of its loopback address, or elsewhere. */
export function placeOf(headers: HttpRequest["headers"], issuer: URL): "here" | "loopback" | "elsewhere" {
  const url = `${issuer.protocol}//${hostIn(headers) ?? issuer.host}`;
  if (!URL.canParse(url)) return "elsewhere";
  const { host: opened, hostname, port } = new URL(url);
  if (opened === issuer.host) return "here";
  return isLoopback(hostname) && port === issuer.port && !isForwarded(headers) ? "loopback" : "elsewhere";
}

/** The host that a browser asked for. Anybody can forge it, but learns only where the pages are, so no proxy has to be trusted for it. */
function hostIn(headers: HttpRequest["headers"]): string | undefined {
  const [outer] = headers["x-forwarded-host"]?.split(",") ?? [];
  return outer?.trim() ?? headers[":authority"] ?? headers.host;
}

/** Whether a proxy says that it forwards the request. */
const isForwarded = (headers: HttpRequest["headers"]): boolean =>
  forwarding.some((name) => headers[name] !== undefined);

const loopbackAddress = /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/;

/** Whether a request comes from this machine itself, and not through a proxy on it. */
export const isOfThisMachine = ({ headers, values }: HttpRequest): boolean =>
  loopbackAddress.test(values.get(keys.address) ?? "") && !isForwarded(headers);

/** The headers that reveal a proxy. */
const forwarding = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "via",
] as const;
