import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { nodeEnv, startNode } from "../first_start.ts";
import { type DatabaseProxy, openProxy } from "../postgres/proxy.ts";
import { type Fault, type Stage, untilReady } from "./rounds.ts";

const lastsMs = 1_500;
// A statement that was swallowed is given up after this, and what connecting and silence may take.
const settings = { DATABASE_STATEMENT_TIMEOUT_MS: "1000", SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0" };

/** A node whose database is reached through a network that fails. */
export async function openNetwork(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = opened.use(await freshDatabase()).url;
  const proxy = opened.use(await openProxy(databaseUrl));
  const dataDir = await mkdtemp(join(tmpdir(), "postern-network-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const options = { databaseUrl: proxy.url, dataDir, adminToken: newToken("pt"), env: settings };
  // On a busy machine, a first start needs more time for a statement than calls have here.
  {
    await using first = await startNode({ ...options, env: {} });
    await untilReady(first);
  }
  const node = opened.use(await startNode(options));
  await untilReady(node);
  const stack = opened.move();
  return {
    url: node.url,
    databaseUrl,
    token: options.adminToken,
    env: nodeEnv({ ...options, databaseUrl }),
    faults: faultsOf(proxy),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function faultsOf(proxy: DatabaseProxy): Readonly<Record<string, Fault>> {
  const heal = async () => {
    await pause(lastsMs);
    proxy.fail({});
  };
  return {
    delays: { strike: () => proxy.fail({ delayMs: 50 }), heal },
    resets: { strike: () => resets(proxy) },
    refusals: {
      strike() {
        proxy.fail({ refuse: true });
        proxy.reset();
      },
      heal,
    },
    "closing by the server": { strike: () => proxy.halfClose("client") },
    "closing by the node": { strike: () => proxy.halfClose("server") },
    "lost answers": { strike: () => loseAnswers(proxy), heal },
    "a black hole": { strike: () => proxy.fail({ swallow: true }), heal },
  };
}

async function resets({ reset }: DatabaseProxy): Promise<void> {
  for (const end = performance.now() + lastsMs; performance.now() < end; await pause(20)) reset();
}

/** Lets statements through and swallows their answers, then ends their connections. */
async function loseAnswers({ fail, reset }: DatabaseProxy): Promise<void> {
  fail({ swallow: "answers" });
  await pause(100);
  reset();
}
