import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** The answer of a site: a redirect to a place, a page with a text, or a file. */
export type SiteAnswer =
  | { readonly to: string }
  | { readonly text: string }
  | { readonly type: string; readonly body: string | Uint8Array };

/** A web site on an origin of its own, with the requests that came to it. */
export type WebSite = AsyncDisposable & {
  readonly origin: string;
  /** The requests, as `METHOD target`. */
  readonly requests: readonly string[];
  /** The headers of the last request. */
  readonly headers: () => IncomingMessage["headers"];
};

/** Serves a site on a free port, by the name or the address that browsers call it by. */
export async function startWebSite(
  host: "localhost" | "127.0.0.1",
  answer: (target: string) => SiteAnswer | Promise<SiteAnswer>,
): Promise<WebSite> {
  const requests: string[] = [];
  let headers: IncomingMessage["headers"] = {};
  const server = createServer(async (request, response) => {
    const { method = "", url: target = "" } = request;
    request.resume();
    if (target === "/favicon.ico") return response.writeHead(204).end();
    requests.push(`${method} ${target}`);
    headers = request.headers;
    const answered = await answer(target);
    if ("to" in answered) return response.writeHead(302, { location: answered.to }).end();
    if ("body" in answered) return response.writeHead(200, { "content-type": answered.type }).end(answered.body);
    return response
      .writeHead(200, { "content-type": "text/html; charset=utf-8" })
      .end(`<!doctype html><title>${answered.text}</title><h1>${answered.text}</h1>`);
  }).listen(0, host);
  await once(server, "listening");
  return {
    origin: `http://${host}:${(server.address() as AddressInfo).port}`,
    requests,
    headers: () => headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
