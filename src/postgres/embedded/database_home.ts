import { randomBytes } from "node:crypto";
import { chown, lstat, mkdir, readFile, realpath, rmdir, stat, symlink } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import { StartError } from "../failure.ts";
import { type Account, run } from "./run.ts";

/** The folder of the embedded database, and the account that it runs as. */
export type DatabaseHome = Readonly<{ home: string; account: Account; moved: boolean }>;

// PostgreSQL refuses to run as root, and its user must be able to enter every parent folder of its files.
const outside = "/var/lib/postern";

/** Finds or creates the database's home in the data folder, or, if its user cannot enter that, elsewhere with a link to it. */
export async function findHome(dataDir: string): Promise<DatabaseHome> {
  const base = resolve(dataDir);
  const link = join(base, "postgres");
  await mkdir(base, { recursive: true, mode: isRoot() ? 0o711 : 0o700 });
  const account = await accountFor(link);
  if (!(await exists(link))) await makeHome(link, account);
  const home = await realpath(link).catch(() => {
    throw new StartError(
      `${link} is a link to a folder that no longer exists: restore the folder, or remove the link to start with an empty database`,
    );
  });
  const owner = await stat(home);
  if (!isRoot() && owner.uid !== account.uid)
    throw new StartError(`${home} belongs to user ${owner.uid}: run as that user or root, or set POSTERN_DATA_DIR`);
  if (!(await canEnter(account, home)))
    throw new StartError(
      `${account.name}, the user that PostgreSQL runs as, cannot enter ${home}: give that user access to the folders above it`,
    );
  return { home, account, moved: !home.startsWith(join(await realpath(base), "/")) };
}

async function makeHome(link: string, account: Account): Promise<void> {
  await makeFolder(link, account);
  if (await canEnter(account, link)) return;
  await rmdir(link);
  const home = join(outside, randomBytes(5).toString("hex"));
  await mkdir(outside, { recursive: true, mode: 0o755 });
  await makeFolder(home, account);
  if (!(await canEnter(account, home)))
    throw new StartError(
      `${account.name}, the user that PostgreSQL runs as, can enter neither ${dirname(link)} nor ${outside}`,
    );
  await symlink(home, link).catch(ignore("EEXIST"));
}

/** Creates a folder that only the account can enter; leaves an existing one unchanged. */
export async function makeFolder(path: string, account: Account): Promise<void> {
  const made = await mkdir(path, { mode: 0o700 }).then(() => true, ignore("EEXIST"));
  if (made && !account.isSelf) await chown(path, account.uid, account.gid);
}

/** Swallows one kind of file-system error. */
export function ignore(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}

async function canEnter(account: Account, folder: string): Promise<boolean> {
  return (await run(account, "/bin/sh", ["-c", 'cd "$1"', "sh", folder])).ok;
}

async function accountFor(link: string): Promise<Account> {
  if (!isRoot()) return { ...self(), isSelf: true };
  const owner = await stat(link).catch(() => undefined);
  const users = await knownUsers();
  if (owner && owner.uid !== 0)
    return (
      users.find(({ uid }) => uid === owner.uid) ?? {
        name: `user ${owner.uid}`,
        uid: owner.uid,
        gid: owner.gid,
        isSelf: false,
      }
    );
  for (const user of users) if ((await run(user, "/bin/sh", ["-c", ":"])).ok) return user;
  throw new StartError(
    "PostgreSQL does not run as root and no other user was found: run as an ordinary user, or set DATABASE_URL",
  );
}

async function knownUsers(): Promise<Account[]> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  const users = lines.map((line) => line.split(":")).filter(([name, , uid]) => name && Number(uid) > 0);
  const all = users.map(([name = "", , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid), isSelf: false }));
  const liked = ["nobody", "postgres", "daemon"].flatMap((name) => all.filter((user) => user.name === name));
  return [...new Set([...liked, ...all])];
}

function self(): Pick<Account, "name" | "uid" | "gid"> {
  try {
    const { username: name, uid, gid } = userInfo();
    return { name, uid, gid };
  } catch {
    throw new StartError(
      "PostgreSQL needs a user with an entry in /etc/passwd: run as such a user, or set DATABASE_URL",
    );
  }
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(ignore("ENOENT"))) !== undefined;
}
