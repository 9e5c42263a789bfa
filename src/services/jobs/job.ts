import { setTimeout as pause } from "node:timers/promises";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type JobService, JobState, ListJobsRequestSchema } from "../../../gen/postern/v1/job_pb.ts";
import { type Call, callerOf, type Deps, organizationOf, reachOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { loadOne } from "../../events/load.ts";
import { type Chore, deleteDue, inOrder } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { cut, pageOf, pageRule } from "../reading/page.ts";

/** Background jobs, for callers who may see them. */
export const jobService = ({ sql }: Pick<Deps, "sql">) => {
  const read = jobRead(sql);

  return {
    async getJob(request, call) {
      return { job: job(await jobOf(request, call)) };
    },

    async listJobs(request, call) {
      const page = pageOf(ListJobsRequestSchema, request, 1);
      const { organization, actor } = sightOf(request, call);
      const rows = await sql<JobRow[]>`
        select ${sql.unsafe(columns)} from jobs j
        where ${organization ? sql`j.owner = ${organization}` : sql`true`}
          ${actor === null ? sql`` : sql`and j.actor = ${actor}`} ${stateIs(sql, request.state)}
          ${page.after ? sql`and j.job_id < ${page.after[0] ?? ""}` : sql``}
        order by j.job_id desc limit ${page.limit}`;
      const { rows: listed, nextPageToken } = cut(rows, page, ({ id }) => [id]);
      return { jobs: listed.map(job), nextPageToken };
    },

    async waitForJob(request, call) {
      const until = performance.now() + (request.timeoutSeconds || usualSeconds) * 1000;
      for (;;) {
        const row = await jobOf(request, call);
        const left = until - performance.now();
        if (row.ended || left <= 0) return { job: job(row) };
        await pause(Math.min(lookMs, left), undefined, { signal: call.signal });
      }
    },
  } satisfies ServiceImpl<typeof JobService>;

  async function jobOf(request: { jobId: string; instance: boolean }, call: Call): Promise<JobRow> {
    const row = await read({ id: request.jobId, ...sightOf(request, call) }, call.signal);
    if (!row) throw refuse.notFound("job", request.jobId);
    return row;
  }
};

export const jobRules = [pageRule(ListJobsRequestSchema, 1)];

const usualSeconds = 20;
const lookMs = 250;

/** The jobs that a call may see: those of one organization or all, and either only the caller's or everybody's. */
type Sight = { readonly organization: string; readonly actor: string | null };

const sightOf = ({ instance }: { readonly instance: boolean }, call: Call): Sight => ({
  organization: instance ? "" : organizationOf(call),
  actor: reachOf(call).whole ? null : callerOf(call).userId,
});

type JobRow = {
  readonly id: string;
  readonly owner: string;
  readonly type: string;
  readonly stream: string;
  readonly actor: string | null;
  readonly requestId: string;
  readonly created: Date;
  readonly ended: Date | null;
  readonly written: bigint;
};

const columns = `j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written`;

const jobRead = (sql: Sql) =>
  loadOne<Sight & { id: string }, JobRow>(sql, {
    asked: "id text, organization text, actor text",
    select: `select n, ${columns} from asked join jobs j on j.job_id = asked.id
             where (asked.organization = '' or j.owner = asked.organization)
               and (asked.actor is null or j.actor = asked.actor)`,
  });

const stateIs = (sql: Sql, state: JobState) => {
  if (state === JobState.UNSPECIFIED) return sql``;
  return state === JobState.ENDED ? sql`and j.ended is not null` : sql`and j.ended is null`;
};

const job = ({ id, owner, type, stream, actor, requestId, created, ended, written }: JobRow) => ({
  id,
  organizationId: owner,
  type,
  objectId: stream,
  state: ended ? JobState.ENDED : JobState.RUNNING,
  eventCount: written,
  ...(actor === null ? {} : { actorId: actor }),
  requestId,
  creationDate: timestampFromDate(created),
  ...(ended && { endDate: timestampFromDate(ended) }),
});

const keptMs = 7 * 86_400_000;

/** Deletes jobs that ended more than a week ago. */
export const oldJobs = ({ sql, clock }: Pick<Deps, "sql" | "clock">): Chore =>
  inOrder("jobs", (stretch) => {
    const until = new Date(clock().getTime() - keptMs);
    return deleteDue(sql, { table: "jobs", key: "job_id", time: "ended" }, { ...stretch, until });
  });

/** Creates the jobs for organizations deleted by a node of an earlier release, which had no jobs. */
export const jobsOfEarlierReleases = ({ sql }: Pick<Deps, "sql">): Chore => ({
  name: "jobs of earlier releases",
  async batch() {
    const begun = await sql`
      insert into jobs (job_id, owner, type, stream, version, payload, actor, request_id, created)
      select o.organization_id, e.owner, e.type, e.stream, e.version, e.payload, e.actor, e.request_id, e.time
      from organizations o join events e
        on e.owner = o.organization_id and e.stream = o.organization_id and e.version = o.version
      where o.deleted and e.type = 'organization.deleted'
        and not exists (select from jobs j
          where j.owner = o.organization_id and j.stream = o.organization_id and j.type = 'organization.deleted')`;
    return begun.count;
  },
});
