import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually, readyStatus } from "../first_start.ts";
import { freePort } from "../wire/free_port.ts";

const shippedFile = fileURLToPath(new URL("../../deploy/nginx.conf", import.meta.url));

/** A running nginx, with a port for each version of HTTP. */
export type Nginx = AsyncDisposable & { readonly http: string; readonly grpc: string };

/** Starts nginx with the shipped lines, on other addresses, before these nodes. */
export async function startNginx(nodes: readonly string[]): Promise<Nginx> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "postern-nginx-"));
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const [http, grpc] = [await freePort(), await freePort()];
  const file = join(folder, "nginx.conf");
  const text = withPorts(withNodes(await readFile(shippedFile, "utf8"), nodes), { http, grpc });
  await writeFile(file, text.replace("http {", `http {\n${inFolder(folder)}`));
  const global = `daemon off; pid ${folder}/pid; error_log stderr warn;`;
  const child = spawn("nginx", ["-c", file, "-p", folder, "-g", global], { stdio: ["ignore", "ignore", "pipe"] });
  let words = "";
  child.stderr.on("data", (chunk: Buffer) => {
    words += chunk;
  });
  const exited = once(child, "exit");
  opened.defer(async () => {
    // The master ends its workers.
    child.kill("SIGTERM");
    await exited;
  });
  const url = (port: number) => `http://127.0.0.1:${port}`;
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${words}`);
    return (await readyStatus(url(http))) === 200 || undefined;
  }, "nginx");
  const stack = opened.move();
  return { http: url(http), grpc: url(grpc), [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Puts addresses in place of the names, in each group of nodes. */
function withNodes(text: string, nodes: readonly string[]): string {
  const servers = /( *)server one:8080 (.*)\n *server two:8080 .*\n/g;
  if (text.match(servers)?.length !== 2) throw new Error("the configuration does not name two nodes in two groups");
  return text.replace(servers, (_, indent, rest) =>
    nodes.map((url) => `${indent}server ${new URL(url).host} ${rest}\n`).join(""),
  );
}

function withPorts(text: string, ports: { readonly http: number; readonly grpc: number }): string {
  return text
    .replace("listen 8080;", `listen 127.0.0.1:${ports.http};`)
    .replace("listen 8090 http2;", `listen 127.0.0.1:${ports.grpc} http2;`);
}

// The folders that are compiled in belong to root.
const inFolder = (folder: string) =>
  ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};\n`).join("");
