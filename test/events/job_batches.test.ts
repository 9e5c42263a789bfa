import type { JsonValue } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { batches, type Checkpoint, firstCheckpoint, type Job } from "../../src/events/job.ts";
import { folds } from "../../src/runtime/modules.ts";
import { openClient } from "../fixture/database_client.ts";
import { append, idOf, role } from "../fixture/seed.ts";
import { planAsTheService } from "../plans/plan.ts";
import { oneConnection, openTestLog, organizationCreated, somebody } from "./log_of.ts";

const grants = 1_000;
const most = 5;

type Begun = Pick<Job, "type" | "stream" | "payload">;
type Client = ReturnType<typeof openClient>["client"];

/** How many entries of the indexes of grants and their roles were read, of deleted rows too. */
async function entriesRead(client: Client): Promise<number> {
  await client`select pg_stat_force_next_flush()`;
  const [row] = await client<{ entries: number }[]>`
    select sum(idx_tup_read)::int as entries from pg_stat_user_indexes where relname in ('user_grants', 'user_grant_roles')`;
  return row?.entries ?? Number.NaN;
}

const project = idOf("project", 0);

test.each([
  ["a role's holders", "project.role_removed", project, { key: role }],
  ["a project's grants", "project.deleted", project, {}],
  ["an organization's grants", "organization.deleted", "", {}],
] satisfies [string, string, string, JsonValue][])(
  "the last batches of %s read as much as the first, though a stranger's transaction keeps what is deleted in the indexes",
  async (_, type, stream, payload) => {
    await using opened = await openTestLog();
    const organization = organizationCreated();
    const owner = organization.at.stream;
    await opened.log.append(somebody(), [organization], {});
    await using database = openClient(opened.url);
    const { client } = database;
    await planAsTheService(client);
    const next = batches(client, folds);
    const began: Begun = { type, stream: stream || owner, payload };
    const job: Job = { ...began, id: "job", owner, version: 2n, actor: null, requestId: "request", origin: null };
    const batch = (checkpoint: Checkpoint) => next({ job, checkpoint, most, time: new Date() });
    await client`
      insert into jobs (job_id, owner, type, stream, version, payload, request_id, created)
      values (${job.id}, ${owner}, ${type}, ${job.stream}, 2, '{}', 'request', now())`;
    await append([client], owner, { users: grants, projects: 1, grants, changes: 0 });
    await using stranger = oneConnection(opened.url);
    await stranger.sql`begin isolation level repeatable read`;
    await stranger.sql`select from projects`;
    const written = async () => Number((await client`select written from jobs`)[0]?.written);
    const halves: number[] = [];
    for (let checkpoint: Checkpoint = firstCheckpoint, before = await entriesRead(client); halves.length < 2; ) {
      checkpoint = (await batch(checkpoint)) ?? expect.unreachable();
      if ((await written()) < (grants / 2) * (1 + halves.length)) continue;
      const now = await entriesRead(client);
      halves.push(now - before);
      before = now;
    }
    const [first = Number.NaN, second] = halves;
    expect(second).toBeLessThan(1.4 * first);
  },
);
