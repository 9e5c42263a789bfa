import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { newToken } from "../../src/security/token.ts";
import { fastPlace } from "../fast_folder.ts";
import { nodeEnv, startNode } from "../first_start.ts";
import { ask, postmasterOf, quiet } from "../postgres/embedded/holder.ts";
import { freePort } from "../wire/free_port.ts";
import { type Stage, untilReady } from "./rounds.ts";

const settings = { SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0" };

/** A node on its embedded database, as `npm start` runs it; what is killed is started again where nothing else does it. */
export async function openKilled(inFolder?: string): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(inFolder ?? (await fastPlace()), "postern-kills-"));
  // Under root the server runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const dataDir = join(folder, "data");
  // Made here to learn its URL, and left to the node.
  const embedded = await startEmbedded({ dataDir, log: quiet });
  await embedded[Symbol.asyncDispose]();
  const options = { databaseUrl: "", dataDir, port: await freePort(), adminToken: newToken("pt"), env: settings };
  const start = async () => {
    const started = await startNode(options);
    await untilReady(started);
    return started;
  };
  let node = await start();
  opened.defer(() => node[Symbol.asyncDispose]());
  const { url } = node;
  const endNode = async () => {
    node.signal("SIGKILL");
    await node.exited;
  };
  const startAgain = async () => {
    node = await start();
  };
  const endPostmaster = async () => {
    process.kill(await postmasterOf(join(dataDir, "postgres/data")), "SIGKILL");
  };
  const endBoth = () => Promise.all([endPostmaster(), endNode()]).then(() => {});
  const stack = opened.move();
  return {
    url,
    databaseUrl: embedded.url,
    token: options.adminToken,
    env: nodeEnv(options),
    faults: {
      node: { strike: endNode, heal: startAgain },
      postmaster: { strike: endPostmaster },
      backend: { strike: () => endBackend(embedded.url) },
      "node and postmaster": { strike: endBoth, heal: startAgain },
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Kills a process of the database that serves the node: the server then ends all others, and recovers. */
async function endBackend(databaseUrl: string): Promise<void> {
  const [backend] = await ask<{ pid: number }>(
    databaseUrl,
    "select pid from pg_stat_activity where application_name = 'postern' order by state = 'active' desc, random() limit 1",
  );
  if (backend) process.kill(backend.pid, "SIGKILL");
}
