import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { newDatabase, startCluster } from "../cluster.ts";
import { eventually } from "../first_start.ts";
import { holdStatement, holdTable } from "../fixture/held_row.ts";
import { type Postern, startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { type DatabaseProxy, openProxy } from "../postgres/proxy.ts";
import type { Scrape } from "./virtual_series.ts";

/** A state in which alerts fire, and the way there. */
export type Scene<Stage> = {
  readonly state: string;
  readonly fires: readonly string[];
  /** Brings the stage into the state, which goes on until the stack is disposed; adds scrapes on the way to those passed. */
  readonly enter: (stage: Stage, undo: AsyncDisposableStack, passed: Scrape[]) => Promise<void>;
};

/** The node, and more, on which scenes are played. */
export type AlertStage = AsyncDisposable & { readonly url: string };

/** A node with a server of PostgreSQL of its own, which it reaches by way of a proxy. */
export type AlertNode = Postern & { readonly proxy: DatabaseProxy; readonly direct: string };

/** Starts it. Its statements wait for as long as a scene lasts, and a few hashes at a time take a while. */
export async function openAlertNode(): Promise<AlertNode> {
  await using opened = new AsyncDisposableStack();
  const direct = await newDatabase(opened.use(await startCluster()), "alerts");
  const proxy = opened.use(await openProxy(direct));
  const waits = { databaseWaitMs: 120_000, databaseStatementTimeoutMs: 120_000 };
  const hashes = { hashConcurrency: 1, hashQueue: 16, hashMemoryKib: 16_384, hashIterations: 4 };
  const postern = opened.use(await startPostern({ databaseUrl: proxy.url, ...waits, ...hashes }));
  const stack = opened.move();
  return { ...postern, proxy, direct, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A request of sign-in that reads an application. */
const signIn = ({ url }: AlertNode) =>
  fetch(`${url}/oauth/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("unknown:secret")}` },
    body: new URLSearchParams({ grant_type: "authorization_code", code: "unknown" }),
  });

/** Calls and requests of sign-in, whose answers do not matter. */
export async function callSome(node: AlertNode): Promise<void> {
  await Promise.all([node.admin.get("/v1/users/me"), node.admin.get("/v1/projects"), signIn(node)]);
}

// Without a rest, calls that are refused at once would take all processors.
const restMs = 50;

/** Does something again and again, so many times at once, with a rest after each, until the stack is disposed. */
export function keepDoing(undo: AsyncDisposableStack, what: () => Promise<unknown>, atOnce = 1): void {
  let isOver = false;
  const doing = Array.from({ length: atOnce }, async () => {
    for (; !isOver; await pause(restMs)) await what();
  });
  undo.defer(async () => {
    isOver = true;
    await Promise.all(doing);
  });
}

/** Scenes of one node. */
export const nodeScenes: readonly Scene<AlertNode>[] = [
  {
    state: "other programs hold locks",
    fires: ["PosternLockWait", "PosternDatabaseQueue", "PosternDeadlines", "PosternSlow", "PosternSignInSlow"],
    enter: holdLocks,
  },
  {
    state: "other programs hold what deletions wait for",
    fires: ["PosternLongStatementsQueue"],
    enter: holdDeletions,
  },
  {
    state: "the database refuses connections",
    fires: ["PosternNotReady", "PosternErrors", "PosternSignInErrors"],
    async enter(node, undo) {
      node.proxy.fail({ refuse: true });
      undo.defer(() => node.proxy.fail({}));
      node.proxy.reset();
      keepDoing(undo, () => callSome(node));
    },
  },
  {
    state: "the network to the database swallows everything",
    fires: ["PosternNotReady"],
    async enter({ proxy }, undo) {
      proxy.fail({ swallow: true });
      undo.defer(() => {
        proxy.fail({});
        proxy.reset();
      });
    },
  },
  {
    state: "the database takes no writes",
    fires: ["PosternNotReady"],
    async enter({ direct, proxy }, undo) {
      await ask(direct, "alter database alerts set default_transaction_read_only = on");
      undo.defer(async () => {
        await ask(direct, "begin read write; alter database alerts reset default_transaction_read_only; commit");
        proxy.reset();
      });
      proxy.reset();
    },
  },
  {
    state: "more sign-ins than the processors can hash",
    fires: ["PosternHashQueue", "PosternOverloaded"],
    async enter({ as }, undo) {
      const signIn = () => as().post("/v1/sessions", { loginName: randomUUID(), password: "Blue-Kettle-42" });
      keepDoing(undo, signIn, 40);
    },
  },
  {
    state: "somebody tries a password at many login names",
    fires: ["PosternPasswordSpray"],
    async enter({ as }) {
      for (let nth = 0; nth < 20; nth++)
        await as().post("/v1/sessions", { loginName: randomUUID(), password: "Spring-2026!" });
    },
  },
  {
    state: "events get no numbers",
    fires: ["PosternLogBehind"],
    async enter({ direct, organizationId }, undo) {
      undo.use(await holdTable(direct, "event_numbers"));
      await ask(
        direct,
        `insert into events (owner, stream, version, type, payload, request_id, time)
         values ('${organizationId}', 'of long ago', 1, 'project.created', '{"name": "old"}', 'r', now() - interval '2 minutes')`,
      );
    },
  },
  ...messageScenes({
    table: "mail_messages",
    row: "mail_id, owner, user_id, kind, email, language, expiration_date",
    values: "'waiting', 'o', 'u', 'verify_email', 'ada@example.com', 'en', now() + interval '1 day'",
    fires: ["PosternMessagesWait", "PosternMessagesDead"],
  }),
  ...messageScenes({
    table: "sms_messages",
    row: "phone_code_id, owner, user_id",
    values: "'waiting', 'o', 'u'",
    fires: ["PosternMessagesWait", "PosternMessagesDead"],
  }),
  ...messageScenes({
    table: "logout_messages",
    row: "session_id, user_id, app_id",
    values: "'waiting', 'u', 'a'",
    fires: ["PosternSignOutsWait", "PosternSignOutsDead"],
  }),
  subscriptionScene("is refused by its receiver", "PosternSubscriptionFails", "null"),
  subscriptionScene("has died", "PosternSubscriptionsDead", "now()"),
  {
    state: "no node deletes what the retention policy no longer keeps",
    fires: ["PosternRetentionBehind"],
    async enter({ direct, organizationId }, undo) {
      undo.defer(async () => void (await ask(direct, "delete from retention_policies")));
      // Also for a node that is about to.
      undo.use(await holdStatement(direct, "select from retention_progress for update"));
      await ask(
        direct,
        `insert into retention_policies (owner, sign_in_days, version, created, changed)
           select instance_id, 30, 1, now(), now() from instance;
         insert into events (owner, stream, version, type, payload, request_id, time)
           values ('${organizationId}', 'of last year', 1, 'project.created', '{"name": "old"}', 'r', now() - interval '1 year')`,
      );
    },
  },
  {
    state: "a job that no node can do",
    fires: ["PosternJobStalled"],
    async enter({ direct }, undo) {
      undo.defer(async () => void (await ask(direct, "delete from jobs where job_id = 'stalled'")));
      await ask(
        direct,
        `insert into jobs (job_id, owner, type, stream, version, payload, request_id, created)
         values ('stalled', 'o', 'of a newer node', 's', 1, '{}', 'r', now() - interval '6 minutes')`,
      );
    },
  },
];

/** A subscription whose receiver has accepted nothing for two hours. */
function subscriptionScene(state: string, fires: string, dead: string): Scene<AlertNode> {
  return {
    state: `a subscription ${state}`,
    fires: [fires],
    async enter({ direct }, undo) {
      undo.defer(async () => void (await ask(direct, "delete from subscription_deliveries")));
      await ask(
        direct,
        `insert into subscription_deliveries (subscription_id, owner, number, batch, due, failure, failing_since, dead)
         values ('refused', 'o', 0, '', now() + interval '1 hour', 'it answered 500', now() - interval '2 hours', ${dead})`,
      );
    },
  };
}

/** Messages that nobody takes, and that were given up. */
function messageScenes(of: { table: string; row: string; values: string; fires: readonly [string, string] }) {
  const { table, row, values } = of;
  const scene = (state: string, fires: string, dead: string): Scene<AlertNode> => ({
    state: `${table} ${state}`,
    fires: [fires],
    async enter({ direct }, undo) {
      undo.defer(async () => void (await ask(direct, `delete from ${table}`)));
      await ask(
        direct,
        `insert into ${table} (${row}, created, due, dead)
         values (${values}, now() - interval '6 minutes', now() + interval '1 hour', ${dead})`,
      );
    },
  });
  return [scene("wait", of.fires[0], "null"), scene("are dead", of.fires[1], "now()")];
}

/** Waits until a statement has waited for a lock of the table for a while. */
const untilWaiting = (url: string, table: string, least = "0 s") =>
  eventually(
    async () =>
      (
        await ask(
          url,
          `select from pg_locks
           where not granted and relation = '${table}'::regclass and clock_timestamp() - waitstart > '${least}'::interval`,
        )
      ).length > 0 || undefined,
    `a wait for ${table}`,
  );

/** Reads, deletions and requests of sign-in wait for locks; the latter until they have waited for more than a second. */
async function holdLocks(node: AlertNode, undo: AsyncDisposableStack): Promise<void> {
  const { direct, admin } = node;
  const { projectId } = (await admin.post("/v1/projects", { name: `Listed ${randomUUID()}` })).body;
  const applications = await holdTable(direct, "applications");
  const asked = signIn(node);
  await untilWaiting(direct, "applications", "1200 ms");
  await applications[Symbol.asyncDispose]();
  await asked;
  // Locks end before the calls that wait for them.
  const calls = undo.use(new AsyncDisposableStack());
  undo.use(await holdTable(direct, "applications"));
  const list = (headers = {}) => admin.get(`/v1/projects/${projectId}/applications`, headers);
  await Promise.all(Array.from({ length: 4 }, () => list({ "connect-timeout-ms": "1500" })));
  // Calls of one kind share statements: more of them wait when there are more kinds.
  keepDoing(calls, () => Promise.all([list(), callSome(node)]), 8);
}

/** Deletions begin again when their time has passed: what they read on their way to the queue is not held. */
async function holdDeletions({ direct, admin }: AlertNode, undo: AsyncDisposableStack): Promise<void> {
  const made = await Promise.all(
    Array.from({ length: 4 }, () => admin.post("/v1/projects", { name: `To be deleted ${randomUUID()}` })),
  );
  const calls = undo.use(new AsyncDisposableStack());
  undo.use(await holdStatement(direct, "lock table applications in share mode"));
  for (const { body } of made) keepDoing(calls, () => admin.delete(`/v1/projects/${body.projectId}`));
}
