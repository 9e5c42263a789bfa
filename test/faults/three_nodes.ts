import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { client, eventually, type Node, readyStatus, startNode } from "../first_start.ts";
import { clientOf } from "../harness.ts";
import { freePort } from "../wire/free_port.ts";
import { startBalancer } from "./haproxy.ts";
import { startNginx } from "./nginx.ts";
import { type Entrance, type RollingLoad, startRollingLoad } from "./rolling_load.ts";

const names = ["one", "two", "three"] as const;
const writers = 9;
// As in deploy/compose.yaml.
const env = { SHUTDOWN_DELAY_MS: "5000", TRUSTED_PROXIES: "127.0.0.1" };

/** The balancers that are tried. */
export type BalancerName = "HAProxy" | "nginx";

type Balancer = Entrance & { readonly untilUp: (name: string) => Promise<void> };

/** Three nodes on one database behind a balancer, with a user for each writer. */
export type ThreeNodes = AsyncDisposable & {
  readonly databaseUrl: string;
  readonly userIds: readonly string[];
  /** Starts writers, who rest for so long after each write. */
  readonly load: (restMs?: number) => RollingLoad;
  /** Restarts each node after the other, as an upgrade does; the load goes on meanwhile. */
  readonly restartAll: (load: RollingLoad, calls: number) => Promise<void>;
};

/** Starts three nodes behind a balancer. */
export async function startThreeNodes(balancerName: BalancerName): Promise<ThreeNodes> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = opened.use(await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), "postern-three-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const adminToken = newToken("pt");
  const nodes = new Map<string, Node>();
  for (const name of names) {
    const port = await freePort();
    nodes.set(name, opened.use(await startNode({ databaseUrl, dataDir, port, adminToken, env })));
  }
  for (const { url } of nodes.values()) await untilReady(url);
  const urls = [...nodes.values()].map(({ url }) => url);
  const balancer = balancerName === "nginx" ? await nginx(urls, opened) : await haproxy(urls, opened);
  for (const name of names) await balancer.untilUp(name);
  const userIds = await users(urls[0] ?? "", adminToken);
  const stack = opened.move();
  const restart = async (name: string, node: Node) => {
    node.signal("SIGTERM");
    expect(await node.exited).toEqual([0, null]);
    const port = Number(new URL(node.url).port);
    nodes.set(name, stack.use(await startNode({ databaseUrl, dataDir, port, adminToken, env })));
    await untilReady(node.url);
    await balancer.untilUp(name);
  };
  return {
    ...{ databaseUrl, userIds },
    load: (restMs = 0) =>
      startRollingLoad({ http: balancer.http, grpc: balancer.grpc, token: adminToken, writers, restMs, userIds }),
    async restartAll(load, calls) {
      for (const [name, node] of [...nodes]) {
        await load.more(calls);
        await restart(name, node);
      }
      await load.more(calls);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const untilReady = (url: string) =>
  eventually(async () => (await readyStatus(url)) === 200 || undefined, "readiness").then(() => {});

async function nginx(urls: readonly string[], opened: AsyncDisposableStack): Promise<Balancer> {
  const { http, grpc } = opened.use(await startNginx(urls));
  // It asks nobody for readiness; a node that refused a connection is tried again after this time.
  return { http, grpc, untilUp: async () => {} };
}

async function haproxy([one = "", two = "", three = ""]: readonly string[], opened: AsyncDisposableStack) {
  const withThree = (shipped: string) => `${shipped.trimEnd()}\n  server three ${new URL(three).host}\n`;
  const { url, untilState } = opened.use(await startBalancer({ one, two }, withThree));
  return { http: url, grpc: url, untilUp: (name: string) => untilState(name, "UP") };
}

async function users(url: string, token: string): Promise<string[]> {
  const made = Array.from({ length: 25 * writers }, (_, index) =>
    clientOf(url, token).post("/v1/users/machine", { username: `writer-${index}`, name: "Writer" }),
  );
  return (await Promise.all(made)).map(({ body }) => String(body.userId));
}

/** Prints the figures; no call failed with the policy, fewer than one in ten thousand without, and each write is there once. */
export async function expectSmooth(
  what: string,
  { databaseUrl, userIds }: ThreeNodes,
  load: RollingLoad,
): Promise<void> {
  const { acknowledged, bare, withPolicy } = load;
  console.log(
    `${what}: ${acknowledged.length} writes acknowledged; without a policy ${bare.failures.length} of ${bare.calls} calls failed,`,
    `with it ${withPolicy.failures.length} of ${withPolicy.calls}`,
    [...new Set([...bare.failures, ...withPolicy.failures])].slice(0, 5),
  );
  const sql = client(databaseUrl);
  const rows = await sql<{ id: string }[]>`
    select token_id as id from access_tokens where user_id = any(${[...userIds]})`;
  await sql.end();
  expect(rows.map(({ id }) => id).sort()).toEqual([...acknowledged].sort());
  expect(withPolicy.failures).toEqual([]);
  expect(withPolicy.calls).toBeGreaterThan(0);
  expect(bare.failures.length * 10_000).toBeLessThan(Math.max(bare.calls, 1));
}
