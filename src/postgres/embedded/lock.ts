import { randomBytes } from "node:crypto";
import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { platform } from "node:os";
import { join } from "node:path";
import { StartError } from "../failure.ts";
import { ignore } from "./database_home.ts";

/** The lock on a folder: ours until disposed, or held by another running process. */
export type Lock = (AsyncDisposable & { readonly heldBy?: undefined }) | { readonly heldBy: string };

// The lock is a listening socket in the folder. The kernel stops accepting connections the moment the process dies, even if its pid is
// reused, and containers that share the folder see it.
const name = "lock";

/** Locks the folder for this process alone. */
export async function lockFolder(folder: string): Promise<Lock> {
  await using handle = await open(folder, "r");
  const own = `${name}.${randomBytes(4).toString("hex")}`;
  const server = await listen(socketPath(folder, handle, own));
  try {
    for (let tries = 0; tries < 10; tries++) {
      if (await claim(join(folder, own), join(folder, name))) return held(server, join(folder, name));
      const heldBy = await holder(socketPath(folder, handle, name));
      if (heldBy) return { heldBy };
      await removeStale(folder, handle);
    }
    throw new StartError(`${join(folder, name)} cannot be locked: other processes keep starting in this folder`);
  } catch (error) {
    server.close();
    throw error;
  } finally {
    await unlink(join(folder, own)).catch(ignore("ENOENT"));
  }
}

function held(server: Server, path: string): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await unlink(path).catch(ignore("ENOENT"));
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function claim(own: string, path: string): Promise<boolean> {
  return link(own, path).then(
    () => true,
    (error) => ignore("EEXIST")(error) ?? false,
  );
}

// A lock is moved aside before it is examined, so that nobody removes one that was taken in between.
async function removeStale(folder: string, handle: FileHandle): Promise<void> {
  const aside = `${name}.${randomBytes(4).toString("hex")}`;
  const moved = await rename(join(folder, name), join(folder, aside)).then(
    () => true,
    (error) => ignore("ENOENT")(error),
  );
  if (!moved) return;
  if (await holder(socketPath(folder, handle, aside))) await claim(join(folder, aside), join(folder, name));
  await unlink(join(folder, aside)).catch(ignore("ENOENT"));
}

function holder(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const finish = (answer: string | undefined) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => finish("another process"));
    socket.on("data", (pid) => finish(`process ${pid}`));
    socket.on("end", () => finish("another process"));
    socket.on("error", ({ code }: NodeJS.ErrnoException) =>
      finish(code === "ECONNREFUSED" || code === "ENOENT" ? undefined : "another process"),
    );
  });
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.on("error", () => {}).end(String(process.pid))).unref();
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(new StartError(`${path} cannot be made: ${error.message}`)));
    server.listen(path, () => resolve(server));
  });
}

// The kernel limits the path of a socket to 107 bytes; a path through an open folder's descriptor is always short.
function socketPath(folder: string, handle: FileHandle, file: string): string {
  return platform() === "linux" ? `/proc/self/fd/${handle.fd}/${file}` : join(folder, file);
}
