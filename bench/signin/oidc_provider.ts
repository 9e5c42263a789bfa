import { randomBytes } from "node:crypto";
import { serve } from "../../packages/gateway/bench/serve.ts";
import { openBrowser } from "../../test/provider/browser.ts";
import type { DatabaseServer } from "../server.ts";
import { described } from "./described.ts";
import type { MachineCalls } from "./machine_calls.ts";
import { machines, type Provider, redirectUri, usernameOf, users } from "./provider.ts";
import type { SignedIn } from "./sign_on_calls.ts";
import { cookieOf } from "./signed_in.ts";

const program = new URL("../servers/oidc_provider.ts", import.meta.url);

/** Starts the library in a process of its own, with a pool of so many connections. */
export async function startLibrary(databases: DatabaseServer, pool: number): Promise<Provider> {
  const databaseUrl = await databases.database("signin_oidc_provider");
  const client = { id: "bench", secret: newSecret(), redirectUri };
  const robots = Array.from({ length: machines }, (_, n) => ({ id: `machine${n}`, secret: newSecret() }));
  const registration = { client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] };
  await using opened = new AsyncDisposableStack();
  const args = [databaseUrl, String(pool), JSON.stringify([registration, ...robots.map(machineRegistration)])];
  const { url, child } = opened.use(await serve(program, { args, env: { NODE_ENV: "production" } }));
  const description = await described(url);
  const browsers: SignedIn[] = [];
  for (let n = 0; n < users; n++) browsers.push(await signedIn(url, description.authorize, n));
  const running = opened.move();
  return {
    ...{ name: "oidc-provider", url, databaseUrl, pid: child.pid ?? 0, warmSeconds: 5 },
    calls: { ...description, client, browsers },
    machineCalls: { ...description, form: {}, machines: robots },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const newSecret = () => randomBytes(32).toString("base64url");

const machineRegistration = ({ id, secret }: MachineCalls["machines"][number]) => ({
  ...{ client_id: id, client_secret: secret, grant_types: ["client_credentials"] },
  ...{ redirect_uris: [], response_types: [] },
});

async function signedIn(issuer: string, authorize: string, n: number): Promise<SignedIn> {
  const sub = usernameOf(n);
  const browser = openBrowser(issuer);
  const query = new URLSearchParams({
    ...{ client_id: "bench", redirect_uri: redirectUri, response_type: "code", scope: "openid", login_hint: sub },
    ...{ code_challenge: "a".repeat(43), code_challenge_method: "S256" },
  });
  await browser.open(`${issuer}${authorize}?${query}`);
  return { sub, cookie: cookieOf(browser) };
}
