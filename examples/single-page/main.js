// Serves the files of the page. Any web server does: the page needs nothing else of its origin.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const { ISSUER = "http://localhost:8080", CLIENT_ID = "", PORT = "3000" } = process.env;

const html = "text/html; charset=utf-8";
const script = "text/javascript; charset=utf-8";
const page = [html, await readFile(new URL("index.html", import.meta.url))];
const library = new URL("../browser/oidc-client-ts.min.js", import.meta.resolve("oidc-client-ts"));
const files = {
  "/": page,
  "/callback": page,
  "/signed-out": page,
  "/page.js": [script, await readFile(new URL("page.js", import.meta.url))],
  "/oidc-client-ts.js": [script, await readFile(library)],
  "/settings.json": ["application/json", JSON.stringify({ authority: ISSUER, client_id: CLIENT_ID })],
};

// Tokens are in the page, so no script of anybody else may be.
const policy = `default-src 'none'; script-src 'self'; connect-src 'self' ${ISSUER}; frame-ancestors 'none'; base-uri 'none'`;

const server = createServer(({ url = "/" }, response) => {
  const [type, content] = files[url.split("?")[0] ?? ""] ?? [];
  if (type === undefined) response.writeHead(404).end();
  else response.writeHead(200, { "content-type": type, "content-security-policy": policy }).end(content);
});
await new Promise((resolve) => server.listen(Number(PORT), resolve));
console.log(`Open http://localhost:${server.address().port}`);
