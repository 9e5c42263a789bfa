import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isRoot } from "../postgres/embedded/holder.ts";

const run = promisify(execFile);
const address = "127.0.0.153";
const program = join(import.meta.dirname, "silent_names.ts");
// A mount of its own gives the program another file of name servers.
const canMount =
  isRoot &&
  (await run("unshare", ["--mount", "true"]).then(
    () => true,
    () => false,
  ));

test.skipIf(!canMount)(
  "name servers that never answer hold up no other look-up of the process",
  { timeout: 240_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "postern-names-"));
    try {
      const servers = join(folder, "resolv.conf");
      await writeFile(servers, `nameserver ${address}\n`);
      const inside = `mount --bind ${servers} /etc/resolv.conf && exec ${process.execPath} ${program} ${address}`;
      const { stdout } = await run("unshare", ["--mount", "sh", "-c", inside]);
      const [first, ...others] = stdout.trim().split(",");
      expect(first).toBe("localhost");
      expect(others).toHaveLength(16);
      expect(others.filter((code) => !["ETIMEDOUT", "ABORT_ERR"].includes(code))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
