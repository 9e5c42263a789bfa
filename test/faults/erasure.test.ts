import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { rebuild } from "../../src/events/rebuild.ts";
import { folds } from "../../src/runtime/modules.ts";
import { newToken } from "../../src/security/token.ts";
import { oneConnection } from "../events/log_of.ts";
import { startNode } from "../first_start.ts";
import { holdStatement } from "../fixture/held_row.ts";
import { newEraser } from "../fixture/organization.ts";
import { personWithTraces, refusingProvider } from "../fixture/person.ts";
import { type Answer, clientOf, type Postern } from "../harness.ts";
import { freePort } from "../wire/free_port.ts";
import { startPostgres } from "./postgres.ts";
import { postgresBins } from "./postgres_versions.ts";
import { found } from "./programs.ts";
import { untilReady } from "./rounds.ts";

const run = promisify(execFile);
const bin = postgresBins().find((folder) => folder.startsWith("/usr/lib/postgresql/")) ?? "";

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

/** A dump of a database, as text. */
async function dumpOf(url: string): Promise<string> {
  const { pathname, searchParams } = new URL(url);
  const target = ["-h", searchParams.get("host") ?? "", "-U", "postern", "-d", pathname.slice(1)];
  const { stdout } = await run(join(bin, "pg_dump"), [...target, "--inserts"], { maxBuffer: 1 << 30 });
  return stdout.toLowerCase();
}

/** The forms in which a dump could have a word. */
const formsOf = (word: string) => [word.toLowerCase(), Buffer.from(word).toString("hex")];

const many = 20_000;

test.skipIf(!bin || !found("pg_dump"))(
  "no dump has anything of a user who was erased, also if the node that erased is killed meanwhile",
  async () => {
    await using opened = new AsyncDisposableStack();
    const { url: databaseUrl } = opened.use(await startPostgres(bin));
    const provider = opened.use(await refusingProvider());
    const dataDir = await mkdtemp(join(tmpdir(), "postern-erasure-"));
    opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
    const adminToken = newToken("pt");
    const started = async () => {
      const env = { TRUSTED_PROXIES: "127.0.0.1", ...provider.env };
      const node = opened.use(await startNode({ databaseUrl, dataDir, port: await freePort(), adminToken, env }));
      await untilReady(node);
      return node;
    };
    const [first, second] = [await started(), await started()];
    const as = (token?: string) => clientOf(first.url, token);
    const admin = as(adminToken);
    const { organization } = done(await admin.get("/v1/users/me"));
    const postern = { url: first.url, admin, as, organizationId: organization.id } as unknown as Postern;
    const { userId, words, at } = await personWithTraces(postern, organization.id);
    await using client = oneConnection(databaseUrl);
    // So that the node is killed in the middle of it.
    await client.sql`
      insert into events (owner, stream, version, type, payload, request_id, origin, time)
      select ${organization.id}::text, 'attempt' || i, 1, 'attempt.password_refused', jsonb_build_object('userId', ${userId}::text),
        'many', jsonb_build_object('userAgent', ${words.guesser}::text), date_trunc('milliseconds', now())
      from generate_series(1, ${many}) i`;
    const before = await dumpOf(databaseUrl);
    for (const word of Object.values(words)) expect([word, before.includes(word)]).toEqual([word, true]);

    done(await admin.put("/v1/policies/privacy", { policy: { restoreDays: 0 } }, at));
    const eraser = await newEraser(postern, organization.id);
    await using held = await holdStatement(
      databaseUrl,
      `select from events where stream = 'attempt${many}' for update`,
    );
    const { jobId } = done(await eraser.post(`/v1/users/${userId}:erase`));
    const left = async () =>
      (
        await client.sql<{ left: number }[]>`
        select count(*)::int as left from events where request_id = 'many' and origin->>'userAgent' <> ''`
      )[0]?.left ?? 0;
    while ((await left()) === many);
    first.signal("SIGKILL");
    await first.exited;
    expect(await left(), "the job was under way").toBeGreaterThan(0);
    await held[Symbol.asyncDispose]();
    const other = clientOf(second.url, adminToken);
    expect(done(await other.get(`/v1/jobs/${jobId}:wait?instance=true&timeoutSeconds=50`)).job).toMatchObject({
      state: "JOB_STATE_ENDED",
    });
    const after = await dumpOf(databaseUrl);
    for (const word of Object.values(words))
      expect([word, formsOf(word).filter((form) => after.includes(form))]).toEqual([word, []]);
    expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
  },
  240_000,
);
