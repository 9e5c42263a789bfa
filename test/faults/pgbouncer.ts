import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../first_start.ts";
import { freePort } from "../wire/free_port.ts";

/** A running PgBouncer; the URL leads through it. */
export type Bouncer = AsyncDisposable & { readonly url: string };

/** Starts PgBouncer in transaction mode before the server of a URL, with its usual settings but for those given. */
export async function startPgbouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Bouncer> {
  await using opened = new AsyncDisposableStack();
  const [target, port] = [new URL(databaseUrl), await freePort()];
  const sockets = target.searchParams.get("host") ?? "";
  const folder = await mkdtemp(join(tmpdir(), "postern-pgbouncer-"));
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  await chmod(folder, 0o711);
  const lines = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: "transaction",
    ...settings,
  };
  const text = Object.entries(lines).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder, "pgbouncer.ini");
  await writeFile(file, `[databases]\n* = host=${sockets} user=${target.username}\n[pgbouncer]\n${text.join("\n")}\n`);
  // PgBouncer does not run as root, and only the user of the server can enter the folder of its socket.
  const { uid, gid } = await stat(sockets);
  const child = spawn("pgbouncer", [file], { uid, gid, cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
  let words = "";
  child.stderr.on("data", (chunk: Buffer) => {
    words += chunk;
  });
  const exited = once(child, "exit");
  opened.defer(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${words}`);
    return accepts(port);
  }, "PgBouncer");
  const stack = opened.move();
  const url = `postgresql://${target.username}@127.0.0.1:${port}${target.pathname}`;
  return { url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function accepts(port: number): Promise<true | undefined> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}
