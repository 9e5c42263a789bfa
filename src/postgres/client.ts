import { connect as dial, type Socket } from "node:net";
import postgres from "postgres";
import { type Statement, senderOf } from "./statement.ts";
import type { Watched } from "./watchdog.ts";

/**
 * One connection: a client of the driver that opens one socket, and is thrown away with it. A connection that the driver opens
 * again in the place of one that died keeps its `nextWriteTimer` and `chunk` (`closed()` of postgres.js 3.4.9): then it never
 * sends its startup message, and each statement waits for CONNECT_TIMEOUT.
 */
export type Client = Watched & {
  readonly madeAt: number;
  readonly expiresAt: number;
  socket: Socket | undefined;
  askedAt: number | undefined;
  /** The connection has ended; the driver would open another one. */
  closed: boolean;
  readonly send: (statement: Statement) => void;
  /** Ends the connection, cleanly where that can be done in a moment. */
  readonly end: () => Promise<void>;
};

/** What a client of the driver is made of. */
export type ClientOptions = Readonly<{
  url: string;
  driver: Readonly<Record<string, unknown>>;
  /** Called when the connection has ended. */
  closed: (client: Client) => void;
}>;

type Target = Readonly<{ path: unknown; host: readonly string[]; port: readonly number[] }>;

const minuteMs = 60_000;
// By the driver's own clock a connection would end while a statement is on its way to it.
const oneConnection = { max: 1, max_pipeline: 0, max_lifetime: null };

/** Makes a client; its connection is opened for the first statement. */
export function createClient({ url, driver, closed }: ClientOptions): Client {
  const options = {
    ...driver,
    ...oneConnection,
    socket(target: Target) {
      if (client.socket) throw hungUp();
      client.socket = open(target);
      return client.socket;
    },
    onclose() {
      client.closed = true;
      closed(client);
    },
  };
  const sql = postgres(url, options);
  const madeAt = performance.now();
  const client: Client = {
    madeAt,
    // Not all at once; as long as the driver would keep them.
    expiresAt: madeAt + (30 + Math.random() * 30) * minuteMs,
    socket: undefined,
    askedAt: undefined,
    closed: false,
    send: senderOf(sql),
    async end() {
      // The driver would wait in vain for the last statement of a connection that died.
      await sql.end({ timeout: 0.2 });
      client.socket?.destroy();
    },
  };
  return client;
}

/** Whether the connection can take one more statement, as far as its socket shows. */
export function isOpen({ socket, closed }: Client): boolean {
  return !closed && socket !== undefined && !socket.destroyed && !socket.readableEnded && !socket.writableEnded;
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

function hungUp(): Error {
  return Object.assign(new Error("the server hung up"), { code: "ECONNREFUSED" });
}
