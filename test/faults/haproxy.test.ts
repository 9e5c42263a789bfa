import { mkdtemp, rm } from "node:fs/promises";
import { type RequestOptions, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { client, eventually, type Node, readyStatus, startNode } from "../first_start.ts";
import { clientOf } from "../harness.ts";
import { freePort } from "../wire/free_port.ts";
import { type Balancer, checkFile, shippedFile, startBalancer } from "./haproxy.ts";
import { type Load, startLoad } from "./load.ts";
import { found } from "./programs.ts";

type Name = "one" | "two";

const names: readonly Name[] = ["one", "two"];
const writers = 8;
// As in deploy/compose.yaml.
const env = { SHUTDOWN_DELAY_MS: "5000", TRUSTED_PROXIES: "127.0.0.1" };

/** Two nodes on one database, both UP behind the balancer, with a user for each writer. */
type Stage = AsyncDisposable & {
  readonly balancer: Balancer;
  readonly databaseUrl: string;
  readonly token: string;
  readonly userIds: readonly string[];
  readonly nodes: Record<Name, Node>;
  /** Starts a node that has ended again, and waits until it is UP. */
  readonly startAgain: (name: Name) => Promise<void>;
};

type StageOptions = { readonly change?: (shipped: string) => string; readonly more?: Readonly<Record<string, string>> };

async function openStage({ change, more = {} }: StageOptions = {}): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = opened.use(await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), "postern-faults-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const [token, ports] = [newToken("pt"), { one: await freePort(), two: await freePort() }];
  const start = async (name: Name) =>
    opened.use(
      await startNode({ databaseUrl, dataDir, port: ports[name], adminToken: token, env: { ...env, ...more } }),
    );
  const nodes = { one: await start("one"), two: await start("two") };
  for (const name of names) await untilReady(nodes[name]);
  const balancer = opened.use(await startBalancer({ one: nodes.one.url, two: nodes.two.url }, change));
  for (const name of names) await balancer.untilState(name, "UP");
  const userIds = await users(nodes.one.url, token);
  const stack = opened.move();
  return {
    ...{ balancer, databaseUrl, token, userIds, nodes },
    async startAgain(name) {
      nodes[name] = stack.use(await startNode({ databaseUrl, dataDir, port: ports[name], adminToken: token, env }));
      await untilReady(nodes[name]);
      await balancer.untilState(name, "UP");
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const untilReady = (node: Node) =>
  eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");

async function users(url: string, token: string): Promise<string[]> {
  const made = Array.from({ length: 25 * writers }, (_, index) =>
    clientOf(url, token).post("/v1/users/machine", { username: `writer-${index}`, name: "Writer" }),
  );
  return (await Promise.all(made)).map(({ body }) => String(body.userId));
}

/** Every acknowledged write is there, and no write is there twice: tokens have no name that would refuse a second one. */
async function expectEachOnce({ databaseUrl, userIds }: Stage, { acknowledged }: Load): Promise<void> {
  const sql = client(databaseUrl);
  const rows = await sql<
    { id: string }[]
  >`select token_id as id from access_tokens where user_id = any(${[...userIds]})`;
  await sql.end();
  expect(rows.map(({ id }) => id).sort()).toEqual([...acknowledged].sort());
}

/** Prints the figures of a run. */
function report(what: string, { acknowledged, failures }: Load): void {
  const kinds = Object.entries(Object.groupBy(failures, (failure) => failure)).map(([kind, all]) => [
    all?.length,
    kind,
  ]);
  console.log(`${what}: ${acknowledged.length} writes acknowledged, ${failures.length} failures before a retry`, kinds);
}

const statusOf = ({ body, ...options }: RequestOptions & { readonly body: string }) =>
  new Promise<number>((resolve, reject) => {
    request(options, (answer) => resolve(answer.resume().statusCode ?? 0))
      .on("error", reject)
      .end(body);
  });

test.skipIf(!found("haproxy"))(
  "HAProxy takes the shipped configuration as it is, where its names are not known yet",
  async () => {
    const { stderr } = await checkFile(shippedFile);
    const complaints = stderr.split("\n").filter((line) => /alert|warning/i.test(line));
    expect(complaints.filter((line) => !line.includes("could not resolve address"))).toEqual([]);
  },
);

describe.skipIf(!found("haproxy"))("two nodes behind HAProxy", () => {
  const checks = {
    "as shipped": (shipped: string) => shipped,
    "that checks by HTTP/1.0 without Host": (shipped: string) =>
      shipped.replace(/option httpchk\n.*http-check send.*\n/, "option httpchk GET /readyz\n"),
  };

  test.each(Object.entries(checks))("are both UP and serve REST and gRPC: a configuration %s", async (_, change) => {
    await using stage = await openStage({ change });
    const load = startLoad({ ...stage, writers, url: stage.balancer.url });
    await load.more(200);
    await load.stop();
    expect(load.failures).toEqual([]);
    await expectEachOnce(stage, load);
  });

  test("see the address of each client, whatever it says itself", async () => {
    await using stage = await openStage({ more: { SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "1" } });
    const { hostname, port } = new URL(stage.balancer.url);
    // Both nodes count for themselves, and each of them has to be met.
    stage.nodes.two.signal("SIGTERM");
    await stage.balancer.untilState("two", "DOWN");
    let guesses = 0;
    const guess = (localAddress: string) =>
      statusOf({
        ...{ hostname, port, localAddress, method: "POST", path: "/v1/sessions", agent: false },
        headers: { "content-type": "application/json", "x-forwarded-for": `203.0.113.${++guesses}` },
        body: JSON.stringify({ loginName: `nobody-${guesses}`, password: "Wrong-Kettle-42" }),
      });
    expect([await guess("127.0.0.2"), await guess("127.0.0.2")]).toEqual([401, 429]);
    expect([await guess("127.0.0.3"), await guess("127.0.0.3")]).toEqual([401, 429]);
  });

  test("serve on when one is killed, and no call fails once its connections are gone", async () => {
    await using stage = await openStage();
    const load = startLoad({ ...stage, writers, url: stage.balancer.url });
    for (const name of names) {
      await load.more(200);
      stage.nodes[name].signal("SIGKILL");
      await stage.nodes[name].exited;
      // Each writer has been served since, by the node that is left.
      await load.more(10 * writers);
      await stage.balancer.untilState(name, "DOWN");
      const before = load.failures.length;
      await load.more(400);
      expect(load.failures.slice(before)).toEqual([]);
      await stage.startAgain(name);
    }
    await load.stop();
    report("two kills", load);
    await expectEachOnce(stage, load);
    // A connection fails once for each of its writer's tries that ran on it.
    expect(load.failures.length).toBeLessThanOrEqual(2 * names.length * writers);
  });

  test("are restarted one after the other under load, without a failed call", async () => {
    await using stage = await openStage();
    const load = startLoad({ ...stage, writers, url: stage.balancer.url });
    for (const name of names) {
      await load.more(200);
      stage.nodes[name].signal("SIGTERM");
      expect(await stage.nodes[name].exited).toEqual([0, null]);
      await load.more(200);
      await stage.startAgain(name);
    }
    await load.more(200);
    await load.stop();
    report("a rolling restart", load);
    await expectEachOnce(stage, load);
    expect(load.failures).toEqual([]);
  });
});
