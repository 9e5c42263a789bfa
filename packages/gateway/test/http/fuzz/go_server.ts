import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Whether the machine can build programs in Go. */
export const hasGo = spawnSync("go", ["version"]).status === 0;

/** A server of Go's `net/http`. */
export type GoServer = AsyncDisposable & { readonly port: number };

/** Builds and starts the server in go/. */
export async function startGo(): Promise<GoServer> {
  const folder = mkdtempSync(join(tmpdir(), "postern-fuzz-"));
  const program = join(folder, "server");
  execFileSync("go", ["build", "-o", program, "."], {
    cwd: fileURLToPath(new URL("go/", import.meta.url)),
    env: { ...process.env, GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local" },
  });
  const child: ChildProcess = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const closed = once(child, "close");
  const [line] = child.stdout ? await once(child.stdout, "data") : [];
  return {
    port: Number(String(line)),
    [Symbol.asyncDispose]: async () => {
      child.stdin?.end();
      await closed;
      rmSync(folder, { recursive: true });
    },
  };
}
