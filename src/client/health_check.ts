import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Config } from "../config/config.ts";
import { type ListenSettings, localUrl } from "../config/local_address.ts";

/** The outcome of a health check: whether the node with these settings can serve, and a line that names the URL. */
export type HealthCheck = { readonly ok: boolean; readonly line: string };

type HealthSettings = ListenSettings & Pick<Config, "operationsPort">;

// Even a busy node responds sooner than this, unless it should get no calls.
const longestWaitMs = 4_000;

/** Asks the node with these settings on this machine whether it is ready, over HTTP or TLS at its port. */
export async function checkHealth(settings: HealthSettings): Promise<HealthCheck> {
  const port = settings.port || settings.operationsPort;
  if (!port) return { ok: false, line: "PORT is 0, so the port of the node is not known: set PORT" };
  const url = `${localUrl({ ...settings, port })}/readyz`;
  const status = await statusOf(url).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
  return { ok: status === 200, line: status === 200 ? `ready: ${url}` : `not ready: ${url}: ${status}` };
}

/** The response status, even if the certificate has other names, because the connection never leaves the machine. */
async function statusOf(url: string): Promise<number | undefined> {
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(longestWaitMs);
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false, rejectUnauthorized: false, signal }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject);
    asked.end();
  });
}
