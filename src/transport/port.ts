import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { readPreface } from "./preface.ts";
import type { Sessions } from "./sessions.ts";
import type { Encryption } from "./tls.ts";

/** Who shares the connections of a port. */
export type Sharing = {
  readonly server: Server;
  readonly sessions: Sessions;
  readonly encryption?: Encryption | undefined;
  readonly limits: { readonly headerTimeoutMs: number };
};

/** Gives each new connection of a server to whom it speaks to; answers the connections that have not told yet. */
export function shareConnections({ server, sessions, encryption, limits }: Sharing): ReadonlySet<Socket> {
  const undecided = new Set<Socket>();
  // The server keeps listening itself: its own time-outs work only for a server that does.
  const http1 = server.listeners("connection");
  const toHttp1 = (socket: Socket) => http1.forEach((listener) => void listener.call(server, socket));
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    undecided.add(socket);
    // A reset that nobody listens for ends the process.
    socket.on("error", ignore).on("close", () => undecided.delete(socket));
    if (encryption) return void encryption.server.emit("connection", socket);
    readPreface(socket, limits.headerTimeoutMs, (version) => {
      undecided.delete(socket);
      if (version === "2") return toHttp2(sessions, socket);
      toHttp1(socket);
      socket.resume();
    });
  });
  encryption?.server.on("secureConnection", (socket: TLSSocket) => {
    for (const one of undecided) if (isUnder(one, socket)) undecided.delete(one);
    socket.on("error", ignore);
    if (socket.alpnProtocol === "h2") return toHttp2(sessions, socket);
    toHttp1(socket);
    readAsEvents(socket);
  });
  return undecided;
}

/** Takes a connection off the short way from the handle to the parser, where Node does not stop reading while it is paused. */
function readAsEvents(socket: TLSSocket): void {
  // One read of the network decrypts to many records: behind a large answer the second was refused as HPE_PAUSED.
  socket.on("data", ignore);
}

const isUnder = (one: Socket, encrypted: TLSSocket) =>
  one.remotePort === encrypted.remotePort && one.remoteAddress === encrypted.remoteAddress;

function ignore() {}

function toHttp2(sessions: Sessions, socket: Socket): void {
  // Half open, a connection of HTTP/2 is never let go.
  socket.allowHalfOpen = false;
  sessions.accept(socket);
}
