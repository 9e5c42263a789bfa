import { connect as dial, type Socket } from "node:net";
import postgres from "postgres";

/** The options of the driver, with the types that statements of ours have. */
export type DriverOptions = postgres.Options<{ bigint: postgres.PostgresType<bigint> }>;

/** A server to connect to: its URL and options as the driver takes them. */
export type Server = Readonly<{ url: string; driver: DriverOptions }>;

/**
 * One connection to one server: a client of the driver that opens one socket, and is thrown away with it. A connection that the
 * driver opens again in the place of one that died keeps its `nextWriteTimer` and `chunk` (`closed()` of postgres.js 3.4.9): then
 * it never sends its startup message, and each statement waits for CONNECT_TIMEOUT.
 */
export type Link = {
  readonly sql: postgres.Sql<{ bigint: bigint }>;
  socket: Socket | undefined;
  /** The connection has ended; the driver would open another one. */
  closed: boolean;
  /** Ends the connection, cleanly where that can be done in a moment. */
  readonly end: () => Promise<void>;
};

type Target = Readonly<{ path: unknown; host: readonly string[]; port: readonly number[] }>;

// By the driver's own clock a connection would end while a statement is on its way to it.
const oneConnection = { max: 1, max_pipeline: 0, max_lifetime: null };

/** Makes a connection, which is opened for its first statement; the callback is called when it has ended. */
export function createLink({ url, driver }: Server, ended: (link: Link) => void): Link {
  const options: DriverOptions & { socket: (target: Target) => Socket } = {
    ...driver,
    ...oneConnection,
    socket(target: Target) {
      if (link.socket) throw hungUp();
      link.socket = open(target);
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
    socket: undefined,
    closed: false,
    async end() {
      // The driver would wait in vain for the last statement of a connection that died.
      await sql.end({ timeout: 0.2 });
      link.socket?.destroy();
    },
  };
  return link;
}

// The driver starts talking at once: a socket buffers what is written before it is connected.
function open({ path, host: [host = "localhost"], port: [port = 5432] }: Target): Socket {
  const socket = typeof path === "string" ? dial(path) : dial({ host, port });
  // By these the driver finds the name to ask of a certificate.
  Object.assign(socket, { host, port });
  // A proxy without a server accepts and closes, upon which the driver would dial again without end.
  return socket.once("end", () => {
    if (socket.bytesRead === 0) socket.destroy(hungUp());
  });
}

/** The failure of a connection that ended before anything was said. */
export function hungUp(): Error {
  return Object.assign(new Error("the server hung up"), { code: "ECONNREFUSED" });
}
