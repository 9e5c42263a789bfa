import { once } from "node:events";
import { createServer, connect as dial, type Socket } from "node:net";

/** The faults of connections from now on; without one they work. */
export type Faults = {
  /** The delay of bytes each way. */
  readonly delayMs?: number;
  /** Bytes go nowhere, or only those of the server, and no connection is closed. */
  readonly swallow?: boolean | "answers";
  /** New connections are reset at once. */
  readonly refuse?: boolean;
  /** Whether the connection is reset instead of sending this message of the client, with which so many statements began. */
  readonly resetAt?: (message: string, statements: number) => boolean;
};

/** A proxy in front of a PostgreSQL that can be made to fail in the ways of a network. */
export type DatabaseProxy = AsyncDisposable & {
  /** The database by way of the proxy. */
  readonly url: string;
  readonly fail: (faults: Faults) => void;
  /** Resets every connection there is. */
  readonly reset: () => void;
  /** Ends one direction of every connection there is. */
  readonly halfClose: (side: "client" | "server") => void;
  /** The number of connections made. */
  readonly made: () => number;
};

type Link = { readonly client: Socket; readonly server: Socket };

/** Opens a proxy in front of the server of a URL, which is reached by a Unix-domain socket. */
export async function openProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const path = `${target.searchParams.get("host")}/.s.PGSQL.5432`;
  const links = new Set<Link>();
  let faults: Faults = {};
  let made = 0;
  const server = createServer((client) => {
    made++;
    if (faults.refuse) return void client.resetAndDestroy();
    const link = { client, server: dial(path) };
    links.add(link);
    const close = () => {
      links.delete(link);
      client.destroy();
      link.server.destroy();
    };
    for (const socket of [client, link.server]) socket.on("error", close).on("close", close);
    const fits = messages((message, statements) => faults.resetAt?.(message, statements) !== true);
    client.on("data", (bytes) =>
      fits(bytes) ? pass(bytes, link.server, forQuestions(faults)) : client.resetAndDestroy(),
    );
    link.server.on("data", (bytes) => pass(bytes, client, faults));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: urlOf(target, server.address()),
    fail(next) {
      faults = next;
    },
    reset() {
      for (const { client } of links) client.resetAndDestroy();
    },
    halfClose(side) {
      for (const link of links) link[side].end();
    },
    made: () => made,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const { client } of links) client.destroy();
      await once(server, "close");
    },
  };
}

function urlOf(target: URL, address: ReturnType<ReturnType<typeof createServer>["address"]>): string {
  const url = new URL(target);
  url.searchParams.delete("host");
  url.hostname = "127.0.0.1";
  url.port = String(typeof address === "object" ? address?.port : 0);
  return url.href;
}

const forQuestions = (faults: Faults): Faults =>
  faults.swallow === "answers" ? { ...faults, swallow: false } : faults;

function pass(bytes: Buffer, to: Socket, { swallow, delayMs }: Faults): void {
  if (swallow || to.destroyed) return;
  if (delayMs) setTimeout(() => to.write(bytes), delayMs);
  else to.write(bytes);
}

/** Takes the bytes of a client apart; answers whether all messages that they complete are let through. */
function messages(isFine: (message: string, statements: number) => boolean): (bytes: Buffer) => boolean {
  let rest = Buffer.alloc(0);
  // The startup message has no letter in front.
  let head = 0;
  let statements = 0;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    let fine = true;
    while (rest.length >= head + 4) {
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) break;
      const message = rest.toString("latin1", 0, end);
      // Parse or simple Query.
      if (head === 1 && /^[PQ]/.test(message)) statements++;
      fine = isFine(message, statements) && fine;
      rest = rest.subarray(end);
      head = 1;
    }
    return fine;
  };
}
