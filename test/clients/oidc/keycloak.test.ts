import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { type Application, answerIn, application, issuerOf, type Person, signIn } from "../../provider/application.ts";
import { type Browser, openBrowser } from "../../provider/browser.ts";
import { registerUris } from "../../provider/web_program.ts";
import { found } from "../toolchains.ts";
import { openFront } from "./front.ts";
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
    const front = opened.use(await openFront());
    postern = opened.use(await startPostern({ codeLifetimeSeconds: 600, ...front.settings }));
    keycloak = opened.use(await startKeycloak());
    front.sendTo(keycloak.origin);
    app = await application(postern.admin);
    const broker = `${keycloak.origin}/realms/shop/broker/postern/endpoint`;
    await registerUris(postern.admin, app, {
      redirectUris: [broker],
      postLogoutRedirectUris: [`${broker}/logout_response`],
      backChannelLogoutUri: `${front.url}/realms/shop/protocol/openid-connect/logout/backchannel-logout`,
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
    const response = await asked({ grant_type: "authorization_code", code, redirect_uri: callback });
    expect(response.status).toBe(200);
    return (await response.json()) as Record<string, string>;
  }

  const asked = (form: Record<string, string>) =>
    fetch(`${realm()}/token`, { method: "POST", body: new URLSearchParams({ client_id: "shop", ...form }) });

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

  test("a session that ends at Postern ends that of Keycloak, and no other", { timeout }, async () => {
    const signedIn = async () => {
      const browser = openBrowser(issuerOf(postern));
      const back = await signIn(browser, await ledTo(browser, shopUrl(), issuerOf(postern)), person);
      const tokens = await tokensFor(await ledTo(browser, back.url, "https://shop.example"));
      const isSignedIn = async () => {
        const { status } = await asked({ grant_type: "refresh_token", refresh_token: tokens.refresh_token ?? "" });
        expect([200, 400]).toContain(status);
        return status === 200;
      };
      expect(await isSignedIn()).toBe(true);
      return { isSignedIn };
    };
    const before = await sessionIds();
    const here = await signedIn();
    const [id] = (await sessionIds()).filter((id) => !before.includes(id));
    const elsewhere = await signedIn();
    expect((await postern.admin.delete(`/v1/sessions/${id}`)).status).toBe(200);
    await vi.waitFor(async () => expect(await here.isSignedIn()).toBe(false), timeout);
    expect(await elsewhere.isSignedIn()).toBe(true);
  });

  async function sessionIds(): Promise<string[]> {
    const { sessions } = (await postern.admin.get(`/v1/sessions?userId=${person.userId}`)).body;
    return sessions.map(({ id }: { id: string }) => id);
  }
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
    // With it, Keycloak signs out at Postern without the browser; it takes our logout tokens in either case.
    backchannelSupported: "false",
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
