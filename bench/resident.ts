import { setTimeout as sleep } from "node:timers/promises";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { median } from "../packages/gateway/bench/stats.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { idOf, seed } from "../test/fixture/seed.ts";
import type { Built } from "./built.ts";
import { type Load, together } from "./load.ts";
import { type Memory, type Node, startNode } from "./node.ts";
import type { DatabaseServer } from "./server.ts";
import { startSystem } from "./system_under_test.ts";

const users = 12_800;
const held = 5;
const warmCalls = 100_000;
// A node gives memory back once it has rested for some seconds, and not more often than twice a minute.
const restMs = 45_000;
const starts = 5;
const [warmCallers, callers] = [32, 128];
const sliceSeconds = 3;
// No user has two grants in one project: more than all calls of one protocol could fill.
const projects = 20;

/** Resident memory of a node as people start it, beside a database of its own: at rest after many calls, and under load. */
export async function resident(databases: DatabaseServer, built: Built): Promise<Row[]> {
  const { env, token } = await prepared(databases);
  const startMs: number[] = [];
  for (let n = 0; n < starts; n++) {
    await using node = await startNode(built, env);
    startMs.push(node.startMs);
  }
  await using node = await startNode(built, env);
  const send = sender(node, token);
  const begun = await node.memory();
  const warmed = await send(warmCalls, warmCallers);
  await sleep(restMs);
  const idle = await node.memory();
  const loaded = await send(warmCalls / 2, callers);
  await sleep(restMs);
  return [
    {
      ...row("start to ready, warm", "external database", { ms: Math.round(median(startMs)) }),
      goals: { ms: { most: 500 } },
    },
    line("after the start", begun),
    { ...line(`at rest after ${warmed.calls} calls`, idle), goals: { MB: { most: 120 } } },
    {
      ...line(`under ${loaded.calls} calls of ${callers} callers, at most`, loaded.most),
      goals: { MB: { most: 250 } },
    },
    line("at rest after these", await node.memory()),
  ];
}

const line = (how: string, { rss, anonymous, file, pss }: Memory): Row =>
  row("resident memory of a node", how, { MB: rss, anonymous, file, "by share": pss });

/** A database with users who hold grants; returns the settings of its nodes. */
async function prepared(databases: DatabaseServer) {
  await using system = await startSystem(databases, "resident");
  await using sql = openClient(system.databaseUrl);
  const size = { users, projects: held + 2 * projects, grants: held * users, changes: 0 };
  await seed(sql.client, system.organizationId, size);
  return { env: { ...system.env, LOG_LEVEL: "info", POSTERN_DATA_DIR: databases.folder }, token: system.token };
}

/** Sends the mixture in slices, and looks at the memory meanwhile; returns the calls, and the memory when most was resident. */
function sender(node: Node, token: string) {
  const next = { grpc: held * users, json: (held + projects) * users };
  return async (calls: number, callers: number) => {
    let sent = 0;
    let most = await node.memory();
    while (sent < calls) {
      const shared = { url: node.url, token, callers: callers / kinds, seconds: sliceSeconds };
      const running = together([
        ...mixture({ ...shared, protocol: "grpc" }, next.grpc),
        ...mixture({ ...shared, protocol: "json" }, next.json),
      ]);
      for (let over = false; !over; ) {
        over = await Promise.race([running.then(() => true), sleep(100, false)]);
        const now = await node.memory();
        if (now.rss > most.rss) most = now;
      }
      const outcomes = await running;
      if (outcomes.some(({ refused }) => refused > 0)) throw new Error("a call was refused");
      next.grpc = outcomes[0]?.next ?? next.grpc;
      next.json = outcomes[kinds / 2]?.next ?? next.json;
      sent += outcomes.reduce((sum, { granted }) => sum + granted, 0);
    }
    return { calls: sent, most };
  };
}

type Shared = Pick<Load, "url" | "token" | "callers" | "seconds" | "protocol">;

// Four by each protocol.
const kinds = 8;

/** Grants, lists of what one user holds, checks whether a user holds a role, and GetMe. */
function mixture(shared: Shared, from: number): Load[] {
  const userId = idOf("user", 77);
  return [
    { ...shared, from, recipe: { kind: "add_user_grant", users } },
    { ...shared, from: 0, recipe: { kind: "list_grants", filter: { userId } } },
    { ...shared, from: 0, recipe: { kind: "list_grants", filter: { userId, projectId: idOf("project", 0) } } },
    { ...shared, from: 0, recipe: { kind: "get_me" } },
  ];
}
