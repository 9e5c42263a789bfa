import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { rebuild } from "../../src/events/rebuild.ts";
import { folds } from "../../src/runtime/modules.ts";
import { follow, hasAll, logOf, nodeOf, seenBy, streamOf, wait, write } from "../events/followers.ts";
import { oneConnection } from "../events/log_of.ts";
import { startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { freePort } from "../wire/free_port.ts";
import { startPostgres } from "./postgres.ts";
import { postgresBins } from "./postgres_versions.ts";
import { found } from "./programs.ts";

const run = promisify(execFile);
const bin = postgresBins().find((folder) => folder.startsWith("/usr/lib/postgresql/")) ?? "";

/** Uses up ids of transactions, which a server counts from its own beginning. */
const useIds = (url: string) =>
  ask(url, "do $$ begin for n in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$");

const arguments_ = (url: string): string[] => {
  const { pathname, searchParams } = new URL(url);
  return ["-h", searchParams.get("host") ?? "", "-U", "postern", "-d", pathname.slice(1)];
};

for (const further of ["dumped", "new"])
  test.skipIf(!bin || !found("pg_dump"))(
    `a dump restored into a new server is followed by everybody, when the ${further} server has used more transaction ids`,
    async () => {
      await using opened = new AsyncDisposableStack();
      const [dumped, restored] = [opened.use(await startPostgres(bin)), opened.use(await startPostgres(bin))];
      await useIds(further === "dumped" ? dumped.url : restored.url);
      const folder = await mkdtemp(join(tmpdir(), "postern-restore-"));
      opened.defer(() => rm(folder, { recursive: true, force: true }));
      const port = await freePort();
      const one = await startPostern({ databaseUrl: dumped.url, port });
      const follower = opened.use(follow(nodeOf(one)));
      const ids = () => seenBy(follower).map(({ objectId }) => objectId);
      const kept = await write(one, 20);
      await vi.waitFor(() => expect(ids()).toEqual(expect.arrayContaining(kept)), wait);
      const before = seenBy(follower).at(-1)?.position ?? "";
      const dump = join(folder, "dump");
      await run(join(bin, "pg_dump"), [...arguments_(dumped.url), "-Fc", "-f", dump]);
      const lost = await write(one, 30);
      await vi.waitFor(() => expect(ids()).toEqual(expect.arrayContaining(lost)), wait);
      const last = seenBy(follower).at(-1)?.position ?? "";
      await one[Symbol.asyncDispose]();
      await run(join(bin, "pg_restore"), [...arguments_(restored.url), "--exit-on-error", dump]);

      const two = opened.use(await startPostern({ ...one.config, databaseUrl: restored.url, port }));
      const added = await write(two, 100);
      await hasAll(follower, restored.url, added);
      const log = await logOf(restored.url);
      expect(log.filter((id) => kept.includes(id) || lost.includes(id))).toEqual(kept);
      const late = await two.admin.get(`/v1/events:watch?types=project.created&after=${last}`);
      expect([late.status, late.body.details[0].reason]).toEqual([400, "POSITION_LOST"]);
      const { sent } = await streamOf(nodeOf(two), before);
      await vi.waitFor(() => expect(sent().split("\n").filter(Boolean)).toHaveLength(added.length), wait);
      await using client = oneConnection(restored.url);
      expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
    },
    240_000,
  );
