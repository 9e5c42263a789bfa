import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Connections } from "./connections.ts";
import { readPreface } from "./preface.ts";
import type { Encryption } from "./tls.ts";

/** Who shares the connections of a port. */
export type Sharing = {
  readonly server: Server;
  readonly connections: Connections;
  readonly encryption?: Encryption | undefined;
  readonly limits: { readonly headerTimeoutMs: number };
};

/** Gives each new connection of a server to whom it speaks to; answers the connections that have not told yet. */
export function shareConnections({ server, connections, encryption, limits }: Sharing): ReadonlySet<Socket> {
  const undecided = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    undecided.add(socket);
    // A reset that nobody listens for ends the process.
    socket.on("error", ignore).on("close", () => undecided.delete(socket));
    if (encryption) return void encryption.server.emit("connection", socket);
    readPreface(socket, limits.headerTimeoutMs, (version) => {
      undecided.delete(socket);
      connections.accept(socket, version);
    });
  });
  encryption?.server.on("secureConnection", (socket: TLSSocket) => {
    for (const one of undecided) if (isUnder(one, socket)) undecided.delete(one);
    socket.on("error", ignore);
    connections.accept(socket, socket.alpnProtocol === "h2" ? "2" : "1.1");
  });
  return undecided;
}

const isUnder = (one: Socket, encrypted: TLSSocket) =>
  one.remotePort === encrypted.remotePort && one.remoteAddress === encrypted.remoteAddress;

function ignore() {}
