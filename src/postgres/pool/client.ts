import type { Socket } from "node:net";
import type { Share } from "../../security/turns.ts";
import { failUnsent, type Statement, senderOf, serverKeyOf } from "./driver.ts";
import { type Candidates, findServer } from "./find_server.ts";
import { cancelOn, createLink, hungUp, type Link } from "./link.ts";
import type { Watched } from "./watchdog.ts";

/** One connection for statements one at a time, to the first server in the needed state. */
export type Client = Watched & {
  readonly madeAt: number;
  expiresAt: number;
  readonly socket: Socket | undefined;
  askedAt: number | undefined;
  /** The server's process of the last statement; undefined before the first. */
  readonly pid: number | undefined;
  /** Whether the connection has ended. */
  readonly closed: boolean;
  readonly send: (statement: Statement, share: Share) => void;
  /** Asks the server to end the running statement; the connection is not used again. */
  readonly cancel: (statement: Statement) => void;
  /** Ends the connection, cleanly if that takes only a moment. */
  readonly end: () => Promise<void>;
};

/** The options of a client; the callback is called when its connection has ended. */
export type ClientOptions = Candidates &
  Readonly<{
    closed: (client: Client) => void;
    /** The longest time for which the pool uses it. */
    lifetimeMs: number;
  }>;

/** Makes a client; its connection is opened for the first statement. */
export function createClient({ servers, need, aside, closed, lifetimeMs }: ClientOptions): Client {
  let link: Link | undefined;
  let send: Client["send"] | undefined;
  let isEnding = false;
  let last: Statement | undefined;
  const ended = (one: Link) => {
    if (one === link && send) closed(client);
  };
  const made = (one: Link) => {
    if (isEnding) throw hungUp();
    link = one;
  };
  // If there is only one server and no state is needed, nothing has to be asked.
  if (servers.length === 1 && need === "any") {
    link = createLink(servers[0], ended);
    send = senderOn(link);
  }
  const madeAt = performance.now();
  const client: Client = {
    madeAt,
    // Lifetimes vary, so that connections do not all end at once.
    expiresAt: madeAt + (1 - Math.random() / 2) * lifetimeMs,
    get socket() {
      return link?.socket;
    },
    askedAt: undefined,
    get isAside() {
      return link !== undefined && (aside?.has(link.url) ?? false);
    },
    get pid() {
      return serverKeyOf(last).pid ?? undefined;
    },
    get closed() {
      return link?.closed ?? false;
    },
    send(statement, share) {
      last = statement;
      if (send) return send(statement, share);
      findServer({ servers, need, aside }, { made, ended }).then(
        (found) => {
          send = senderOn(found.link);
          send(statement, share);
        },
        (error: unknown) => failUnsent(statement, error),
      );
    },
    cancel(statement) {
      // The cancellation may arrive after the statement's end.
      client.expiresAt = 0;
      if (link) cancelOn(link, serverKeyOf(statement));
    },
    async end() {
      isEnding = true;
      await link?.end();
    },
  };
  return client;
}

function senderOn(link: Link): Client["send"] {
  const send = senderOf(link.sql);
  return (statement, share) => {
    link.share = share;
    send(statement);
  };
}

/** Whether the connection can take another statement, as far as its socket shows. */
export function isOpen({ socket, closed }: Client): boolean {
  return !closed && socket !== undefined && !socket.destroyed && !socket.readableEnded && !socket.writableEnded;
}
