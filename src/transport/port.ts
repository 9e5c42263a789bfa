import type { Server } from "node:http";
import type { Socket } from "node:net";
import { readPreface } from "./preface.ts";
import type { Sessions } from "./sessions.ts";

/** Who shares the connections of a port. */
export type Sharing = {
  readonly server: Server;
  readonly sessions: Sessions;
  readonly limits: { readonly headerTimeoutMs: number };
};

/** Gives each new connection of a server to whom it speaks to; answers the connections that have not told yet. */
export function shareConnections({ server, sessions, limits }: Sharing): ReadonlySet<Socket> {
  const undecided = new Set<Socket>();
  // The server keeps listening itself: its own time-outs work only for a server that does.
  const toHttp1 = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    undecided.add(socket);
    // A reset that nobody listens for ends the process.
    socket.on("error", ignore).on("close", () => undecided.delete(socket));
    readPreface(socket, limits.headerTimeoutMs, (version) => {
      undecided.delete(socket);
      if (version === "2") return toHttp2(sessions, socket);
      for (const listener of toHttp1) listener.call(server, socket);
      socket.resume();
    });
  });
  return undecided;
}

function ignore() {}

function toHttp2(sessions: Sessions, socket: Socket): void {
  // Half open, a connection of HTTP/2 is never let go.
  socket.allowHalfOpen = false;
  sessions.accept(socket);
}
