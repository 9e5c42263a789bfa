import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { type Application, answerIn, application, issuerOf, type Person, signIn } from "../../provider/application.ts";
import { type Browser, openBrowser } from "../../provider/browser.ts";
import { registerUris } from "../../provider/web_program.ts";
import { found } from "../toolchains.ts";
import { type Keycloak, startKeycloak } from "./keycloak_server.ts";

const timeout = 900_000;
const callback = "https://shop.example/cb";

describe.skipIf(!found("java"))("Keycloak, with Postern as its upstream provider", () => {
  const opened = new AsyncDisposableStack();
  let postern: Postern;
  let keycloak: Keycloak;
  let app: Application;
  let person: Person;
  beforeAll(async () => {
    postern = opened.use(await startPostern({ codeLifetimeSeconds: 600 }));
    keycloak = opened.use(await startKeycloak());
    app = await application(postern.admin);
    const broker = `${keycloak.origin}/realms/shop/broker/postern/endpoint`;
    await registerUris(postern.admin, app, {
      redirectUris: [broker],
      postLogoutRedirectUris: [`${broker}/logout_response`],
    });
    await makeRealm(keycloak, issuerOf(postern), app);
    person = await signedUp(postern);
    await postern.admin.post(`/v1/projects/${app.projectId}/roles`, { key: "editor", displayName: "Editor" });
    const grant = { projectId: app.projectId, roleKeys: ["editor"] };
    expect((await postern.admin.post(`/v1/users/${person.userId}/grants`, grant)).status).toBe(200);
  }, timeout);
  afterAll(() => opened.disposeAsync());

  const realm = () => `${keycloak.origin}/realms/shop/protocol/openid-connect`;
  const shopUrl = () =>
    `${realm()}/auth?${new URLSearchParams({
      ...{ client_id: "shop", response_type: "code", scope: "openid", redirect_uri: callback, kc_idp_hint: "postern" },
    })}`;

  /** The tokens that Keycloak gives the shop for the code in a URL. */
  async function tokensFor(url: string): Promise<Record<string, string>> {
    expect(url).toContain(`${callback}?`);
    const { code = "" } = answerIn({ url });
    const form = { grant_type: "authorization_code", client_id: "shop", code, redirect_uri: callback };
    const response = await fetch(`${realm()}/token`, { method: "POST", body: new URLSearchParams(form) });
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, string>;
  }

  test("a sign-in makes a user who is linked to ours, with the roles that ours has", { timeout }, async () => {
    const browser = openBrowser(issuerOf(postern));
    const back = await signIn(browser, await ledTo(browser, shopUrl(), issuerOf(postern)), person);
    await tokensFor(await ledTo(browser, back.url, "https://shop.example"));
    const [user] = (await keycloak.admin("GET", `/shop/users?exact=true&username=${person.username}`)) as User[];
    expect(user).toMatchObject({ firstName: "Ada", lastName: "Byron", email: `${person.username}@example.com` });
    expect(await keycloak.admin("GET", `/shop/users/${user?.id}/federated-identity`)).toEqual([
      { identityProvider: "postern", userId: person.userId, userName: person.username },
    ]);
    const roles = await keycloak.admin("GET", `/shop/users/${user?.id}/role-mappings/realm`);
    expect(roles).toEqual(expect.arrayContaining([expect.objectContaining({ name: "shop-editor" })]));
  });

  test("the next sign-in is of the same user, and a sign-out at Keycloak signs out at Postern", {
    timeout,
  }, async () => {
    const browser = openBrowser(issuerOf(postern));
    const back = await signIn(browser, await ledTo(browser, shopUrl(), issuerOf(postern)), person);
    const { id_token = "" } = await tokensFor(await ledTo(browser, back.url, "https://shop.example"));
    expect(await keycloak.admin("GET", "/shop/users/count")).toBe(1);
    const leave = new URLSearchParams({ id_token_hint: id_token, post_logout_redirect_uri: `${callback}/bye` });
    const left = await ledTo(browser, `${realm()}/logout?${leave}`, "https://shop.example");
    expect(left).toBe(`${callback}/bye`);
    const again = await browser.open(await ledTo(browser, shopUrl(), issuerOf(postern)));
    expect([again.status, again.text]).toEqual([200, expect.stringContaining('name="password"')]);
  });
});

type User = { readonly id: string; readonly firstName: string; readonly lastName: string; readonly email: string };

/** Follows the redirects from a URL, of any kind, as far as the first one to an origin. */
async function ledTo(browser: Browser, url: string, origin: string): Promise<string> {
  for (let at = url, left = 20; left > 0; left--) {
    if (new URL(at).origin === new URL(origin).origin) return at;
    const { status, headers, text } = await browser.send(at);
    const location = headers.get("location");
    if (location === null) throw new Error(`${at} answers ${status}: ${text}`);
    at = new URL(location, at).href;
  }
  throw new Error(`${url} leads nowhere`);
}

/** Makes a realm with an application, a role, and Postern as its identity provider, by what our discovery document says. */
async function makeRealm({ admin }: Keycloak, issuer: string, { clientId, clientSecret }: Application): Promise<void> {
  const shop = { clientId: "shop", publicClient: true, redirectUris: ["https://shop.example/*"] };
  const logout = { attributes: { "post.logout.redirect.uris": "https://shop.example/*" } };
  await admin("POST", "", { realm: "shop", enabled: true, clients: [{ ...shop, ...logout }] });
  await admin("POST", "/shop/roles", { name: "shop-editor" });
  const fromUrl = `${issuer}/.well-known/openid-configuration`;
  const discovered = await admin("POST", "/shop/identity-provider/import-config", { providerId: "oidc", fromUrl });
  const config = {
    ...(discovered as Record<string, string>),
    ...{ clientId, clientSecret, clientAuthMethod: "client_secret_basic", defaultScope: "openid profile email roles" },
    ...{ pkceEnabled: "true", pkceMethod: "S256", validateSignature: "true", useJwksUrl: "true", syncMode: "FORCE" },
  };
  await admin("POST", "/shop/identity-provider/instances", {
    alias: "postern",
    providerId: "oidc",
    enabled: true,
    config,
  });
  const mapped = { claim: "roles", "claim.value": "editor", role: "shop-editor", syncMode: "INHERIT" };
  const mapper = { name: "editor", identityProviderAlias: "postern", identityProviderMapper: "oidc-role-idp-mapper" };
  await admin("POST", "/shop/identity-provider/instances/postern/mappers", { ...mapper, config: mapped });
}
