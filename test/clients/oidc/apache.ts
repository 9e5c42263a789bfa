import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../first_start.ts";
import { freePort } from "../../wire/free_port.ts";
import { root } from "../workshop.ts";

/** Apache with mod_auth_openidc, in front of an application. */
export type Apache = AsyncDisposable & { readonly origin: string };

const page = join(root, "docs/mod-auth-openidc.md");
const modules = "/usr/lib/apache2/modules";
const loaded = [
  "mpm_event",
  "authn_core",
  "authz_core",
  "authz_user",
  "headers",
  "proxy",
  "proxy_http",
  "auth_openidc",
];

type Registered = { readonly issuer: string; readonly clientId: string; readonly clientSecret: string };

/** An address for an Apache, which its application is registered with before it starts. */
export const apacheOrigin = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`;

/** Starts Apache with the configuration of the documentation, on other addresses, in a folder of its own. */
export async function startApache(origin: string, { issuer, clientId, clientSecret }: Registered): Promise<Apache> {
  await using opened = new AsyncDisposableStack();
  const application = opened.use(await startApplication());
  const folder = await mkdtemp(join(tmpdir(), "postern-apache-"));
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const shown = (await readFile(page, "utf8"))
    .match(/```apache\n([\s\S]*?)```/)?.[1]
    ?.replaceAll("https://id.example.com", issuer)
    .replaceAll("https://wiki.example.com", origin)
    .replaceAll("http://127.0.0.1:8081", application.origin);
  const { host } = new URL(origin);
  const own = [
    ...[`ServerRoot ${folder}`, "ServerName localhost", `PidFile ${folder}/pid`, `DefaultRuntimeDir ${folder}`],
    ...[`Listen ${host}`, `ErrorLog ${folder}/log`, "User nobody", "Group nogroup"],
    ...loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`),
  ];
  const file = join(folder, "httpd.conf");
  await writeFile(file, [...own, shown].join("\n"));
  const env = {
    ...process.env,
    ...{ CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, CRYPTO_PASSPHRASE: "0123456789abcdef".repeat(3) },
  };
  const child = spawn("apache2", ["-f", file, "-D", "FOREGROUND"], { env, stdio: "ignore" });
  const exited = once(child, "exit");
  opened.defer(async () => {
    child.kill();
    await exited;
  });
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`Apache ended: ${await readFile(join(folder, "log"), "utf8")}`);
    return fetch(`${origin}/bye`).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );
  }, "Apache");
  const stack = opened.move();
  return { origin, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** An application that shows who it hears of. Its pages have a date and say nothing about caches, as files that Apache serves. */
async function startApplication() {
  const server = createServer(({ url = "", headers }, response) => {
    const lastModified = new Date(Date.now() - 7 * 24 * 3_600_000).toUTCString();
    response.writeHead(200, { "content-type": "text/html", "last-modified": lastModified }).end(shown(url, headers));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const shown = (url: string, headers: IncomingHttpHeaders): string =>
  JSON.stringify({
    page: url,
    sub: headers.oidc_claim_sub,
    email: headers.oidc_claim_email,
    roles: headers.oidc_claim_roles,
  });
