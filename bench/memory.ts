import { type Row, row } from "../packages/gateway/bench/report.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { seed } from "../test/fixture/seed.ts";
import { build } from "./built.ts";
import { type Load, together } from "./load.ts";
import { resident } from "./resident.ts";
import { startDatabaseServer } from "./server.ts";
import { starts } from "./start.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const megabyte = 1024 * 1024;
const users = 12_800;
const sliceSeconds = 2;

/** Measures memory before and after many calls, and the time from the start to the first answer. */
export async function memory(calls: number): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  await using built = await build();
  const begun = [...(await starts(built)), ...(await resident(databases, built))];
  await using system = await startSystem(databases, "memory");
  const idle = await system.server.usage();
  await using sql = openClient(system.databaseUrl);
  await seed(sql.client, system.organizationId, {
    users,
    projects: Math.ceil(calls / users) + 20,
    grants: 0,
    changes: 0,
  });
  const send = sender(system);
  // The heap takes its shape in the first calls.
  const settled = await send(Math.ceil(calls / 5));
  const before = await system.server.usage("collect");
  const more = await send(calls);
  const after = await system.server.usage("collect");
  return [
    ...begun,
    row("resident memory", "idle", { MB: round(idle.rss / megabyte) }),
    row("resident memory", "settled", { calls: settled.calls, MB: round(before.rss / megabyte) }),
    { ...grown("resident memory", before.rss, after.rss, more.calls), goals: { "growth %": { most: 5 } } },
    row("resident memory", "at most meanwhile", { MB: round(more.most / megabyte) }),
    row("objects and buffers in use", "settled", { MB: round(before.held / megabyte) }),
    grown("objects and buffers in use", before.held, after.held, more.calls),
  ];
}

const grown = (subject: string, before: number, after: number, calls: number): Row =>
  row(subject, "after", { calls, MB: round(after / megabyte), "growth %": round((after / before - 1) * 100) });

/** Sends reads and writes in parallel; returns their number, and the most resident memory, which swings with the collector. */
function sender({ server, token }: SystemUnderTest) {
  let next = 0;
  const shared = { url: server.url, protocol: "grpc", seconds: sliceSeconds, token } as const;

  return async (calls: number) => {
    let sent = 0;
    let most = 0;
    while (sent < calls) {
      const reads: Load = { ...shared, callers: 24, recipe: { kind: "get_me" }, from: 0 };
      const writes: Load = { ...shared, callers: 8, recipe: { kind: "add_user_grant", users }, from: next };
      const outcomes = await together([reads, writes]);
      if (outcomes.some(({ refused }) => refused > 0)) throw new Error("a call was refused");
      next = outcomes[1]?.next ?? next;
      sent += outcomes.reduce((sum, one) => sum + one.calls, 0);
      most = Math.max(most, (await server.usage()).rss);
    }
    return { calls: sent, most };
  };
}
