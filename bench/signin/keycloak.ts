import { randomUUID } from "node:crypto";
import { openBrowser, textIn } from "../../test/provider/browser.ts";
import { call, isThere, startNode, tokenOf } from "../peers/keycloak.ts";
import type { DatabaseServer } from "../server.ts";
import { described } from "./described.ts";
import type { MachineCalls } from "./machine_calls.ts";
import { machines, type Provider, password, redirectUri, usernameOf, users } from "./provider.ts";
import type { SignedIn } from "./sign_on_calls.ts";
import { cookieOf } from "./signed_in.ts";

const realm = "signin";

/** Starts Keycloak with a pool of so many connections; nothing where it is missing. */
export async function startKeycloak(databases: DatabaseServer, pool: number): Promise<Provider | undefined> {
  if (!(await isThere())) return undefined;
  const databaseUrl = await databases.database("signin_keycloak");
  const admin = randomUUID();
  await using opened = new AsyncDisposableStack();
  const { pid, url } = opened.use(await startNode({ databaseUrl, pool, password: admin }));
  const client = { id: "bench", secret: randomUUID(), redirectUri };
  // A token lasts a minute, and on a busy machine a call takes as long.
  const newToken = () => tokenOf(url, { password: admin, client_id: "admin-cli" });
  await createRealm(url, await newToken());
  await createClient(url, client.secret, await newToken());
  const robots = await machinesIn(url, newToken);
  const found = await call(`${url}/admin/realms/${realm}/users?max=${users}`, { token: await newToken() });
  const people = (await found.json()) as { id: string; username: string }[];
  const description = await described(`${url}/realms/${realm}`);
  const browsers: SignedIn[] = [];
  for (const { id, username } of people) browsers.push(await signedIn(description, id, username));
  const running = opened.move();
  return {
    ...{ name: "Keycloak", url, databaseUrl, pid, warmSeconds: 30 },
    calls: { ...description, client, browsers },
    machineCalls: { ...description, form: {}, machines: robots },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Makes a realm with its users. */
async function createRealm(url: string, token: string): Promise<void> {
  const credentials = [{ type: "password", value: password, temporary: false }];
  const people = Array.from({ length: users }, (_, n) => ({
    ...{ username: usernameOf(n), email: `${usernameOf(n)}@example.com`, emailVerified: true },
    ...{ firstName: "Ada", lastName: "Byron", enabled: true, credentials },
  }));
  await call(`${url}/admin/realms`, { token, method: "POST", body: { realm, enabled: true, users: people } });
}

/** Makes a client that is asked for no more than those of the others: PKCE, and no refresh tokens. */
async function createClient(url: string, secret: string, token: string): Promise<void> {
  const body = {
    ...{ clientId: "bench", secret, redirectUris: [redirectUri], standardFlowEnabled: true },
    // `basic` is what the claim `sub` comes from.
    ...{ defaultClientScopes: ["basic"], optionalClientScopes: [] },
    attributes: { "pkce.code.challenge.method": "S256", "use.refresh.tokens": "false" },
  };
  await call(`${url}/admin/realms/${realm}/clients`, { token, method: "POST", body });
}

/** Makes clients with service accounts, which get no more claims than a machine of ours. An import would leave out their accounts. */
async function machinesIn(url: string, newToken: () => Promise<string>): Promise<MachineCalls["machines"]> {
  const robots = Array.from({ length: machines }, (_, n) => ({ id: `machine${n}`, secret: randomUUID() }));
  for (const { id: clientId, secret } of robots) {
    const body = {
      ...{ clientId, secret, serviceAccountsEnabled: true, standardFlowEnabled: false },
      ...{ defaultClientScopes: ["basic"], optionalClientScopes: [] },
    };
    await call(`${url}/admin/realms/${realm}/clients`, { token: await newToken(), method: "POST", body });
  }
  return robots;
}

type Description = Awaited<ReturnType<typeof described>>;

/** Signs in by the page of Keycloak. */
async function signedIn({ issuer, authorize }: Description, sub: string, username: string): Promise<SignedIn> {
  const browser = openBrowser(issuer);
  const query = new URLSearchParams({
    ...{ client_id: "bench", redirect_uri: redirectUri, response_type: "code", scope: "openid" },
    ...{ code_challenge: "a".repeat(43), code_challenge_method: "S256" },
  });
  const page = await browser.send(`${new URL(issuer).origin}${authorize}?${query}`);
  const action = textIn(page.text, /<form[^>]* action="([^"]*)"/);
  const body = new URLSearchParams({ username, password });
  const answer = await browser.send(action, { method: "POST", body });
  if (answer.status !== 302) throw new Error(`Keycloak signs nobody in: ${answer.status}`);
  return { sub, cookie: cookieOf(browser) };
}
