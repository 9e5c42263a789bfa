import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { newToken } from "../../src/security/token.ts";
import { type Browser, openBrowser } from "../../test/provider/browser.ts";
import { build } from "../built.ts";
import { startNode } from "../peers/postern.ts";
import { type DatabaseServer, unreached } from "../server.ts";
import { post } from "../users.ts";
import { described } from "./described.ts";
import type { MachineCalls } from "./machine_calls.ts";
import { machines, type Provider, password, redirectUri, usernameOf, users } from "./provider.ts";
import type { SignedIn, SignOnCalls } from "./sign_on_calls.ts";
import { cookieOf } from "./signed_in.ts";

/** Starts Postern as its operators do, with a pool of so many connections. */
export async function startPostern(databases: DatabaseServer, pool: number): Promise<Provider> {
  const databaseUrl = await databases.database("signin_postern");
  const token = newToken("pt");
  const env = {
    ...{ DATABASE_URL: databaseUrl, DATABASE_CONNECTIONS: String(pool), LOG_LEVEL: "warn", ...unreached },
    ...{ POSTERN_ADMIN_TOKEN: token, POSTERN_MASTER_KEY: randomBytes(32).toString("base64") },
    // The users sign in once each, from one address, before anything is measured.
    ...{ HASH_MEMORY_KIB: "7168", HASH_ITERATIONS: "5", SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0" },
    POSTERN_DATA_DIR: join(databases.folder, "postern"),
  };
  await using opened = new AsyncDisposableStack();
  const { pid, url } = opened.use(await startNode(opened.use(await build()), env));
  const issuer = `http://localhost:${new URL(url).port}`;
  const client = await registered(url, token);
  const description = await described(issuer);
  const browsers: SignedIn[] = [];
  for (let n = 0; n < users; n++) browsers.push(await signedIn(n, { url, token, issuer, client, description }));
  const running = opened.move();
  return {
    ...{ name: "Postern", url, databaseUrl, pid, warmSeconds: 5, delay: () => delayOf(url) },
    calls: { ...description, client, browsers },
    machineCalls: { ...description, ...(await machinesIn(url, token)) },
    token,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** A web server that authenticates by its secret. */
async function registered(url: string, token: string): Promise<SignOnCalls["client"]> {
  const { projectId } = await post(url, "/v1/projects", { body: { name: "Bench" }, token });
  const body = { name: "Bench", redirectUris: [redirectUri] };
  const made = await post(url, `/v1/projects/${projectId}/applications/oidc`, { body, token });
  return { id: String(made.clientId), secret: String(made.clientSecret), redirectUri };
}

/** Makes machines with a grant in one project, which they name in the scope of each request. */
async function machinesIn(url: string, token: string): Promise<Pick<MachineCalls, "form" | "machines">> {
  const { projectId } = await post(url, "/v1/projects", { body: { name: "Machines" }, token });
  await post(url, `/v1/projects/${projectId}/roles`, { body: { key: "reader" }, token });
  const made: MachineCalls["machines"][number][] = [];
  for (let n = 0; n < machines; n++) {
    const { userId } = await post(url, "/v1/users/machine", {
      body: { username: `machine${n}`, name: "Machine" },
      token,
    });
    await post(url, `/v1/users/${userId}/grants`, { body: { projectId, roleKeys: ["reader"] }, token });
    const { clientId, clientSecret } = await post(url, `/v1/users/${userId}/secrets`, { body: {}, token });
    made.push({ id: String(clientId), secret: String(clientSecret) });
  }
  return { form: { scope: `urn:postern:project:id:${projectId}` }, machines: made };
}

type Registered = {
  readonly url: string;
  readonly token: string;
  readonly issuer: string;
  readonly client: SignOnCalls["client"];
  readonly description: Awaited<ReturnType<typeof described>>;
};

/** Makes a user, and signs it in by its password. */
async function signedIn(n: number, { url, token, issuer, client, description }: Registered): Promise<SignedIn> {
  const username = usernameOf(n);
  const person = { username, givenName: "Ada", familyName: "Byron", email: `${username}@example.com`, password };
  const { userId } = await post(url, "/v1/users/human", { body: person, token });
  const browser: Browser = openBrowser(issuer);
  const query = { client_id: client.id, redirect_uri: redirectUri, response_type: "code", scope: "openid" };
  const page = await browser.open(`${issuer}${description.authorize}?${new URLSearchParams(query)}`);
  await browser.submit(page, { login_name: username, password });
  return { sub: String(userId), cookie: cookieOf(browser) };
}

/** Reads the figure that operators see; it counts from one question to the next. */
async function delayOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const seconds = /^nodejs_eventloop_lag_p99_seconds(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1];
  return Number(seconds) * 1000;
}
