import type { RequestListener } from "node:http";
import { expect } from "vitest";
import { serve } from "./https_server.ts";

/** A request that an application got. */
export type Received = { readonly path: string; readonly type: string | undefined; readonly token: string };

/** An application's server that keeps the logout tokens that it gets; by its path it refuses, redirects, or never answers. */
export async function openReceiver() {
  const received: Received[] = [];
  const server = await serve(keeping(received));
  return {
    ...server,
    received,
    uri: (path: string) => `${server.url}${path}`,
    /** The claims of the tokens that came to a path. */
    claimsAt: (path: string) => received.filter((one) => one.path === path).map(({ token }) => claimsOf(token)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The claims of a token, unproven. */
export const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());

const statuses: Readonly<Record<string, number>> = { "/refuses": 400, "/busy": 503, "/empty": 204 };

const keeping =
  (received: Received[]): RequestListener =>
  (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      body += part;
    });
    request.on("end", () => {
      const { url: path = "", method, headers } = request;
      expect(method).toBe("POST");
      const token = new URLSearchParams(body).get("logout_token") ?? "";
      received.push({ path, type: headers["content-type"], token });
      if (path.startsWith("/slow")) return;
      if (path === "/redirects") response.writeHead(302, { location: "/redirected" }).end();
      else if (path === "/large") response.writeHead(200).write("a".repeat(100_000));
      else response.writeHead(statuses[path] ?? 200, { "cache-control": "no-store" }).end();
    });
  };
