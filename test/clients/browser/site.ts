import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** A web site of one page, on an origin of its own. */
export type Site = AsyncDisposable & { readonly origin: string };

/** The script of the page, in one piece as browsers get it. */
export async function bundled(): Promise<string> {
  await using bundle = await rolldown({
    input: fileURLToPath(new URL("page.ts", import.meta.url)),
    platform: "browser",
  });
  const { output } = await bundle.generate({ format: "iife" });
  return output[0].code;
}

/** Serves the page on a free port. */
export async function startSite(script: string): Promise<Site> {
  const server = createServer((request, response) => {
    if (request.url === "/page.js") response.setHeader("content-type", "text/javascript; charset=utf-8").end(script);
    else response.setHeader("content-type", "text/html; charset=utf-8").end(`<script src="/page.js"></script>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
