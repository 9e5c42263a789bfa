import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { signedUp, startPostern } from "../../harness.ts";
import { application, issuerOf } from "../../provider/application.ts";
import { found } from "../toolchains.ts";
import { startChromium } from "./chromium.ts";
import { shows, submit } from "./forms.ts";
import { startWebSite, type WebSite } from "./web_sites.ts";

const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** A file of the package, as it was published. */
const shipped = (name: string) => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));

const startPage = (settings: object) => `<!doctype html><title>API</title><div id="ui"></div>
<script src="/swagger-ui-bundle.js"></script>
<script>
const ui = SwaggerUIBundle({ url: "/api.json", dom_id: "#ui", oauth2RedirectUrl: location.origin + "/oauth2-redirect.html" });
ui.initOAuth(${JSON.stringify(settings)});
</script>`;

/** An API whose callers sign in at an issuer. */
const described = (issuer: string) => ({
  openapi: "3.0.3",
  info: { title: "Shop", version: "1" },
  paths: { "/carts": { get: { responses: { 200: { description: "Carts" } }, security: [{ postern: ["openid"] }] } } },
  components: {
    securitySchemes: {
      postern: {
        type: "oauth2",
        flows: {
          authorizationCode: {
            authorizationUrl: `${issuer}/oauth/authorize`,
            tokenUrl: `${issuer}/oauth/token`,
            scopes: { openid: "Sign in" },
          },
        },
      },
    },
  },
});

const click = "((button) => document.querySelector(button).click())";

describe.skipIf(!found("chromium"))("Swagger UI of npm, in Chromium", () => {
  test("signs a user in in its popup, by the page that it ships, and calls with the token", {
    timeout: 240_000,
  }, async () => {
    await using opened = new AsyncDisposableStack();
    const [postern, chromium] = [opened.use(await startPostern()), opened.use(await startChromium())];
    const [issuer, person] = [issuerOf(postern), await signedUp(postern)];
    let settings = {};
    const site: WebSite = await startWebSite("localhost", async (target) => {
      const { pathname } = new URL(target, "http://site");
      if (pathname === "/") return { type: types[".html"] ?? "", body: startPage(settings) };
      if (pathname === "/api.json") return { type: "application/json", body: JSON.stringify(described(issuer)) };
      if (pathname === "/carts") return { text: "Carts" };
      return { type: types[extname(pathname)] ?? "text/plain", body: await shipped(pathname.slice(1)) };
    });
    opened.use(site);
    const { clientId } = await application(postern.admin, {
      ...{ appType: "OIDC_APP_TYPE_USER_AGENT", authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE", devMode: true },
      redirectUris: [`${site.origin}/oauth2-redirect.html`],
    });
    settings = { clientId, scopes: "openid", usePkceWithAuthorizationCodeGrant: true };

    const page = await chromium.open(site.origin);
    await shows(page, "/carts");
    await page.run(click, ".btn.authorize");
    await shows(page, "Available authorizations");
    const popup = await page.opens(click, ".modal-ux .modal-btn.authorize");
    await shows(popup, pageText("password", "en"));
    // A first try that is wrong stays in the window as well.
    await submit(popup, { login_name: person.username, password: "wrong" }, "password");
    await shows(popup, "wrong");
    await submit(popup, { login_name: person.username, password: person.password }, "password");
    await shows(page, "Logout");
    expect(await page.run("(() => document.querySelector('.modal-ux').innerText)")).not.toContain("Auth error");

    await page.run(click, ".modal-ux .btn-done");
    await page.run(click, ".opblock-summary-control");
    await shows(page, "Try it out");
    await page.run(click, ".try-out__btn");
    await shows(page, "Execute");
    await page.run(click, ".execute");
    await shows(page, "Server response");
    expect(site.requests.at(-1)).toBe("GET /carts");
    const [, token] = /^Bearer (\S+)$/.exec(site.headers().authorization ?? "") ?? [];
    const info = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });
    expect(await info.json()).toMatchObject({ sub: person.userId });
  });
});
