import { open, readdir, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { ignoreUnreadable, readSecret } from "../config/secret_file.ts";
import { lookAgain } from "../events/follow.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { retryWhileFull } from "../security/password.ts";
import { hashToken } from "../security/token.ts";
import { userOfLoginNameRead } from "../services/callers/caller_lookups.ts";
import { type PasswordUser, passwordUserRead } from "../services/passwords/password.ts";

/** The login name of the first administrator. */
export const adminLoginName = "admin";

/** The files in the data folder with the first administrator's secrets. */
export type AdminFile = "admin-token" | "admin-password";

/** A secret under a temporary name, until it is certain that the administrator has it. */
type Pending = { readonly path: string; readonly file: AdminFile };

/** The account to check the files against. */
type Checks = Pick<Runtime, "deps" | "instanceId">;

/** A pending file, and whether its secret is the administrator's. */
export type CheckedFile = Pending & { readonly valid: boolean };

// The instance is part of the name, so that a node with another database that shares the folder leaves the file alone.
const pendingName = /^(admin-token|admin-password)\.new\.([0-9a-z]{24})\.[0-9a-z]{24}$/;

/** Writes secrets before the administrator is created, each under a name that no other node uses. */
export async function writePending(
  { deps, instanceId }: Checks,
  dataDir: string,
  secrets: Readonly<Partial<Record<AdminFile, string>>>,
): Promise<void> {
  const id = deps.ids();
  for (const [file, secret] of Object.entries(secrets)) {
    const path = join(dataDir, `${file}.new.${instanceId}.${id}`);
    await writeFile(path, `${secret}\n`, { mode: 0o600, flag: "wx", flush: true });
  }
  await syncFolder(dataDir);
}

/** The pending files of this instance, from this node or others that share the folder, each checked. */
export async function checkPending(checks: Checks, dataDir: string): Promise<readonly CheckedFile[]> {
  const names = await readdir(dataDir).catch(ignoreUnreadable(() => []));
  const pending = names.flatMap((name): Pending[] => {
    const [, file, instanceId] = pendingName.exec(name) ?? [];
    return instanceId === checks.instanceId ? [{ path: join(dataDir, name), file: file as AdminFile }] : [];
  });
  const checked = await Promise.all(pending.map((one) => check(checks, one)));
  return checked.flatMap((one) => one ?? []);
}

/** Gives each valid file its final name and deletes the others; another node may already have done so. */
export async function settlePending(files: readonly CheckedFile[], dataDir: string): Promise<void> {
  for (const { path, file, valid } of files)
    await (valid ? rename(path, join(dataDir, file)) : unlink(path)).catch(ignoreMissing);
  if (files.length > 0) await syncFolder(dataDir);
}

export async function userOfToken({ deps }: Pick<Runtime, "deps">, token: string): Promise<string | undefined> {
  const [bearer] = await deps.sql<{ id: string }[]>`
    select user_id as id from bearers where hash = ${hashToken(token)} and coalesce(expiration_date > now(), true)`;
  return bearer?.id;
}

/** The user whose password is in `admin-password`; undefined if the file is missing or contains another password. */
export async function userOfPasswordFile(runtime: Checks, dataDir: string): Promise<string | undefined> {
  const password = await readSecret(join(dataDir, "admin-password"));
  if (password === undefined) return undefined;
  const user = await firstAdministrator(runtime);
  return user && (await hasPassword(runtime, user, password)) ? user.id : undefined;
}

const endsPassword: ReadonlySet<string> = new Set(["user.password_changed", "user.password_removed", "user.deleted"]);

/** Removes `admin-password` once the administrator has another password, which any node may have set. */
export function watchPasswordFile(runtime: Runtime, config: Pick<Config, "dataDir" | "databaseUrl">): AsyncDisposable {
  const { tail, logger } = runtime;
  const onError = (error: unknown) => logger.warn({ err: error }, "admin-password could not be checked; trying again");
  const look = passwordFileCheck(runtime, config);
  // The tail reports a change immediately; the interval is for a failed check, or a file that appears later.
  const looking = lookAgain({ everyMs: 60_000, restMs: 200, onError, look });
  const stop = tail.listen({
    events(events) {
      if (events.some(({ type }) => endsPassword.has(type))) looking.poke();
    },
    lost: looking.poke,
  });
  return {
    async [Symbol.asyncDispose]() {
      stop();
      await looking.stop();
    },
  };
}

/** Checks `admin-password` again only if the password in the database has changed. */
function passwordFileCheck(runtime: Runtime, { dataDir, databaseUrl }: Pick<Config, "dataDir" | "databaseUrl">) {
  const path = join(dataDir, "admin-password");
  const own = { dataDir, embedded: !databaseUrl };
  let verified: string | null | undefined;
  let warned = false;
  return async (): Promise<false> => {
    const password = await readSecret(path);
    if (password === undefined) return false;
    const user = await firstAdministrator(runtime);
    if (user && user.since === verified) return false;
    if (user && (await hasPassword(runtime, user, password))) {
      verified = user.since;
    } else if (verified !== undefined || (await isOwnFolder(runtime, user, own))) {
      await unlink(path).catch(ignoreMissing);
      runtime.logger.info(`removed ${path}: the password of the administrator was changed`);
    } else if (!warned) {
      warned = true;
      runtime.logger.warn(`${path} is not the password of the administrator in this database`);
    }
    return false;
  };
}

/**
 * Whether the folder's files were created for this database. A node may temporarily run on another database, and must not remove a password
 * that is still valid for the first.
 */
async function isOwnFolder(
  runtime: Runtime,
  user: PasswordUser | undefined,
  own: { dataDir: string; embedded: boolean },
) {
  if (own.embedded) return true;
  const token = await readSecret(join(own.dataDir, "admin-token"));
  return user !== undefined && token !== undefined && (await userOfToken(runtime, token)) === user.id;
}

/** Checks a pending file; undefined if another node has settled it, or if it belongs to another account. */
async function check(checks: Checks, pending: Pending): Promise<CheckedFile | undefined> {
  const secret = await readSecret(pending.path);
  if (secret === undefined) return undefined;
  return { ...pending, valid: await isInForce(checks, pending.file, secret) };
}

async function isInForce(checks: Checks, file: AdminFile, secret: string): Promise<boolean> {
  if (file === "admin-token") return (await userOfToken(checks, secret)) !== undefined;
  const user = await firstAdministrator(checks);
  return user !== undefined && hasPassword(checks, user, secret);
}

/** The administrator whom the first start created. */
export async function firstAdministrator({ deps: { sql } }: Pick<Runtime, "deps">): Promise<PasswordUser | undefined> {
  const found = await userOfLoginNameRead(sql)({ loginName: adminLoginName });
  return found && passwordUserRead(sql)({ owner: found.owner, id: found.userId });
}

async function hasPassword(
  { deps }: Pick<Runtime, "deps">,
  { hash }: PasswordUser,
  password: string,
): Promise<boolean> {
  return hash !== null && retryWhileFull(() => deps.secrets.passwords.verify(hash, password));
}

// A created or renamed file survives a power failure only if its folder is synced too.
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
