import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../first_start.ts";
import { isRoot, postmasterOf, until } from "../../postgres/embedded/holder.ts";
import { freePort } from "../../wire/free_port.ts";
import { postgresBins } from "../postgres_versions.ts";

// Neither PostgreSQL nor its guardians run as root.
const account = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const names = ["one", "two", "three"] as const;

/** A member of the cluster. */
export type Member = {
  readonly name: string;
  /** Its server, as a client finds it. */
  readonly address: string;
  /** Whether it is the primary, as Patroni says. */
  readonly isPrimary: () => Promise<boolean>;
  /** Whether it is a synchronous standby, as Patroni says. */
  readonly isSynchronous: () => Promise<boolean>;
  /** Ends Patroni and PostgreSQL at once, as the loss of a machine does. */
  readonly kill: () => Promise<void>;
  /** Starts it again on its files. */
  readonly start: () => void;
};

/** Three servers under Patroni, with two synchronous standbys while all of them run. */
export type Cluster = AsyncDisposable & {
  readonly members: readonly Member[];
  /** The database `postgres` of all members, for the one that can be written. */
  readonly url: string;
  readonly primary: () => Promise<Member>;
  /** Waits until the cluster has its two synchronous standbys. */
  readonly whole: () => Promise<unknown>;
};

/** Starts etcd and three members of Patroni on ports of this machine. */
export async function startPatroni(): Promise<Cluster> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "postern-patroni-"));
  opened.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  await chmod(folder, 0o755);
  const etcdPort = await startEtcd(folder, opened);
  const members: Member[] = [];
  for (const name of names) members.push(await createMember({ name, folder, etcdPort, opened }));
  for (const { start } of members) start();
  const primary = () =>
    longer(async () => {
      for (const member of members) if (await member.isPrimary()) return member;
      return false;
    });
  const whole = () =>
    longer(async () => {
      const synchronous = await Promise.all(members.map((member) => member.isSynchronous()));
      return synchronous.filter(Boolean).length === 2;
    });
  await primary();
  await whole();
  const hosts = members.map(({ address }) => address).join(",");
  const url = `postgresql://postern@${hosts}/postgres?target_session_attrs=read-write`;
  const stack = opened.move();
  return { members, url, primary, whole, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const longer = <T>(ask: () => Promise<T | false>) => until(ask, 180_000);

async function startEtcd(folder: string, opened: AsyncDisposableStack): Promise<number> {
  const [port, peers] = [await freePort(), await freePort()];
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peers}`];
  const args = [
    ...["--data-dir", join(folder, "etcd"), "--listen-client-urls", client, "--advertise-client-urls", client],
    ...["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", `default=${peer}`],
  ];
  const child = spawn("etcd", args, { cwd: "/", stdio: ["ignore", "ignore", openSync(join(folder, "etcd.log"), "a")] });
  const exited = once(child, "exit");
  opened.defer(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  await eventually(async () => (await statusOf(`${client}/health`)) === 200 || undefined, "etcd");
  return port;
}

type MemberOptions = { name: string; folder: string; etcdPort: number; opened: AsyncDisposableStack };

async function createMember({ name, folder, etcdPort, opened }: MemberOptions): Promise<Member> {
  const own = join(folder, name);
  await mkdir(own, { mode: 0o700 });
  const [port, rest] = [await freePort(), await freePort()];
  const file = join(own, "patroni.yml");
  await writeFile(file, JSON.stringify(configuration({ name, own, port, rest, etcdPort })));
  if (isRoot) for (const path of [own, file]) await chown(path, 65_534, 65_534);
  let child: ChildProcess | undefined;
  const kill = async () => {
    const exited = child && once(child, "exit");
    child?.kill("SIGKILL");
    await exited;
    child = undefined;
    await endServer(join(own, "data"));
  };
  opened.defer(kill);
  return {
    name,
    address: `127.0.0.1:${port}`,
    isPrimary: async () => (await statusOf(`http://127.0.0.1:${rest}/primary`)) === 200,
    isSynchronous: async () => (await statusOf(`http://127.0.0.1:${rest}/synchronous`)) === 200,
    kill,
    start() {
      const log = openSync(join(folder, `${name}.log`), "a");
      const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", HOME: own };
      child = spawn("patroni", [file], { ...account, cwd: "/", env, stdio: ["ignore", log, log] });
    },
  };
}

async function endServer(data: string): Promise<void> {
  const pid = await postmasterOf(data).catch(() => 0);
  if (pid === 0) return;
  try {
    for (process.kill(pid, "SIGKILL"); ; await sleep(20)) process.kill(pid, 0);
  } catch {
    // It has ended.
  }
}

async function statusOf(url: string): Promise<number | undefined> {
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    ({ status }) => status,
    () => undefined,
  );
}

type Ports = { name: string; own: string; port: number; rest: number; etcdPort: number };

// The shortest times that Patroni allows. JSON is YAML.
function configuration({ name, own, port, rest, etcdPort }: Ports) {
  const bin = postgresBins()[0];
  const dcs = {
    ...{ ttl: 20, loop_wait: 1, retry_timeout: 3, maximum_lag_on_failover: 1_048_576 },
    ...{ synchronous_mode: true, synchronous_node_count: 2 },
    postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, wal_log_hints: "on", fsync: "on" } },
  };
  return {
    ...{ scope: "postern", name },
    restapi: { listen: `127.0.0.1:${rest}`, connect_address: `127.0.0.1:${rest}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: { dcs, initdb: [{ encoding: "UTF8" }, { auth: "trust" }, { username: "postern" }] },
    postgresql: {
      ...{ listen: `127.0.0.1:${port}`, connect_address: `127.0.0.1:${port}`, bin_dir: bin },
      ...{ data_dir: join(own, "data"), pgpass: join(own, "pgpass") },
      authentication: { superuser: { username: "postern" }, replication: { username: "postern" } },
      pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
      parameters: { unix_socket_directories: own },
    },
  };
}
