import { mkdtemp, rm } from "node:fs/promises";
import { type RequestOptions, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
const ofCompose = { SHUTDOWN_DELAY_MS: "5000", TRUSTED_PROXIES: "127.0.0.1" };
const env = { ...ofCompose, SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "1" };

/** Two nodes on one database, both UP behind the balancer. */
type Stage = AsyncDisposable & {
  readonly balancer: Balancer;
  readonly databaseUrl: string;
  readonly token: string;
  readonly nodes: Record<Name, Node>;
  /** Starts a node that has ended again, and waits until it is UP. */
  readonly startAgain: (name: Name) => Promise<void>;
};

async function openStage(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = opened.use(await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), "postern-faults-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const [token, ports] = [newToken("pt"), { one: await freePort(), two: await freePort() }];
  const start = async (name: Name) =>
    opened.use(await startNode({ databaseUrl, dataDir, port: ports[name], adminToken: token, env }));
  const nodes = { one: await start("one"), two: await start("two") };
  for (const name of names) await untilReady(nodes[name]);
  const balancer = opened.use(await startBalancer({ one: nodes.one.url, two: nodes.two.url }));
  for (const name of names) await balancer.untilState(name, "UP");
  const stack = opened.move();
  return {
    ...{ balancer, databaseUrl, token, nodes },
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

let made = 0;

async function users({ nodes, token }: Stage): Promise<string[]> {
  const created = Array.from({ length: 25 * writers }, () =>
    clientOf(nodes.one.url, token).post("/v1/users/machine", { username: `writer-${++made}`, name: "Writer" }),
  );
  return (await Promise.all(created)).map(({ body }) => String(body.userId));
}

/** Does some work under a load; every acknowledged write is there then, and no write is there twice: tokens have no name that would refuse one. */
async function underLoad(stage: Stage, url: string, work: (load: Load) => Promise<unknown>): Promise<Load> {
  const userIds = await users(stage);
  const load = startLoad({ url, token: stage.token, userIds, writers, restMs: 20 });
  await work(load);
  await load.stop();
  const sql = client(stage.databaseUrl);
  const rows = await sql<{ id: string }[]>`select token_id as id from access_tokens where user_id = any(${userIds})`;
  await sql.end();
  expect(rows.map(({ id }) => id).sort()).toEqual([...load.acknowledged].sort());
  return load;
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
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test("are both UP and serve REST and gRPC, by the configuration as shipped and by one that checks by HTTP/1.0 without Host", async () => {
    const { one, two } = stage.nodes;
    await using plain = await startBalancer({ one: one.url, two: two.url }, (text) =>
      text.replace(/option httpchk\n.*http-check send.*\n/, "option httpchk GET /readyz\n"),
    );
    for (const name of names) await plain.untilState(name, "UP");
    for (const { url } of [stage.balancer, plain])
      expect((await underLoad(stage, url, (load) => load.more(200))).failures).toEqual([]);
  });

  test("see the address of each client, whatever it says itself", async () => {
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
    expect(await stage.nodes.two.exited).toEqual([0, null]);
    await stage.startAgain("two");
  });

  test("serve on when one is killed, and no call fails once its connections are gone", async () => {
    const load = await underLoad(stage, stage.balancer.url, async ({ more, failures }) => {
      for (const name of names) {
        await more(200);
        stage.nodes[name].signal("SIGKILL");
        await stage.nodes[name].exited;
        // Each writer has been served since, by the node that is left.
        await more(10 * writers);
        await stage.balancer.untilState(name, "DOWN");
        const before = failures.length;
        await more(400);
        expect(failures.slice(before)).toEqual([]);
        await stage.startAgain(name);
      }
    });
    report("two kills", load);
    // A connection fails once for each of its writer's tries that ran on it.
    expect(load.failures.length).toBeLessThanOrEqual(2 * names.length * writers);
  });
});
