import { connect as dial, type Socket } from "node:net";
import postgres from "postgres";
import { pause } from "../../security/pieces.ts";
import { noShare, type Share } from "../../security/turns.ts";
import { nameServer, type ServerKey } from "./driver.ts";

/** The options of the driver, with the types of our statements. */
export type DriverOptions = postgres.Options<{ bigint: postgres.PostgresType<bigint> }>;

/** A server to connect to: its URL and options for the driver. */
export type Server = Readonly<{ url: string; driver: DriverOptions }>;

/**
 * One connection to one server: a client of the driver that opens one socket, and is thrown away with it. A connection that the
 * driver opens again in the place of one that died keeps its `nextWriteTimer` and `chunk` (`closed()` of postgres.js 3.4.9): then
 * it never sends its startup message, and each statement waits for CONNECT_TIMEOUT.
 */
export type Link = {
  readonly sql: postgres.Sql<{ bigint: bigint }>;
  /** The URL of the server. */
  readonly url: string;
  socket: Socket | undefined;
  /** The address that the socket leads to. */
  target: Target | undefined;
  /** The share that the last statement was for. */
  share: Share;
  /** Whether the connection has ended; the driver would open another one. */
  closed: boolean;
  /** Ends the connection, cleanly if that takes only a moment. */
  readonly end: () => Promise<void>;
};

type Target = Readonly<{ path: unknown; host: readonly string[]; port: readonly number[] }>;

// The time that the peer may take to accept a cancel request and to close.
const cancelMs = 5_000;
// By the driver's own clock a connection would end while a statement is on its way to it.
const oneConnection = { max: 1, max_pipeline: 0, max_lifetime: null };

/** Makes a connection, which is opened for its first statement; the callback is called when it has ended. */
export function createLink({ url, driver }: Server, ended: (link: Link) => void): Link {
  const options: DriverOptions & { socket: (target: Target) => Socket } = {
    ...driver,
    ...oneConnection,
    socket(target: Target) {
      if (link.socket) throw hungUp();
      link.target = target;
      link.socket = open(target);
      readInPieces(link.socket, link);
      return link.socket;
    },
    onclose() {
      link.closed = true;
      ended(link);
    },
  };
  const sql = postgres(url, options);
  const link: Link = {
    sql,
    url,
    socket: undefined,
    target: undefined,
    share: noShare,
    closed: false,
    async end() {
      // The driver would wait in vain for the last statement of a connection that died.
      await sql.end({ timeout: 0.2 });
      link.socket?.destroy();
    },
  };
  return link;
}

/**
 * Sends a cancel request for the statement running on the link, by the key that the server gave it ("Canceling Requests in Progress" in the
 * manual of PostgreSQL). It needs no encryption. The driver's own `cancel` can hit another statement of its pool.
 */
export function cancelOn({ target }: Link, { pid, secret }: ServerKey): void {
  if (!target || typeof pid !== "number" || typeof secret !== "number") return;
  const request = Buffer.alloc(16);
  for (const [index, word] of [16, 80_877_102, pid, secret].entries()) request.writeUInt32BE(word, index * 4);
  const socket = dialTo(target);
  socket.setTimeout(cancelMs, () => void socket.destroy()).on("error", () => {});
  // The server closes. PgBouncer 1.18 forgets the request if the client closes first, and may crash over it.
  socket.resume().write(request);
}

// The driver writes at once: a socket buffers that until it is connected.
function open(target: Target): Socket {
  const [[host = "localhost"], [port = 5432]] = [target.host, target.port];
  const socket = nameServer(dialTo(target), { host, port });
  // A proxy without a server accepts and closes, whereupon the driver would reconnect forever.
  return socket.once("end", () => {
    if (socket.bytesRead === 0) socket.destroy(hungUp());
  });
}

// A few hundred rows. A socket is read for as long as the server fills it, up to two megabytes.
const largeBytes = 16_384;

/**
 * Lets other work use the event loop between the parts of a large response, whose rows the driver decodes as they arrive. Under TLS the
 * driver removes this listener, and such a response is decoded at once.
 */
export function readInPieces(socket: Socket, link: Pick<Link, "share">): void {
  socket.on("data", (part: Buffer) => {
    const turn = part.length < largeBytes ? undefined : pause(link.share);
    if (!turn) return;
    socket.pause();
    void turn.then(() => socket.resume());
  });
}

function dialTo({ path, host: [host = "localhost"], port: [port = 5432] }: Target): Socket {
  return typeof path === "string" ? dial(path) : dial({ host, port });
}

/** The error of a connection that ended before any data arrived. */
export function hungUp(): Error {
  return Object.assign(new Error("the server hung up"), { code: "ECONNREFUSED" });
}
