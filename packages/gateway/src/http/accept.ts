import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Connections } from "./connections.ts";
import { readPreface } from "./preface.ts";
import type { Encryption } from "./tls.ts";

/** A listening server and the connections that it hands its sockets to. */
export type AcceptOptions = {
  readonly server: Server;
  readonly connections: Connections;
  readonly encryption?: Encryption | undefined;
  readonly limits: { readonly headerTimeoutMs: number };
};

/** Hands each new socket over by its HTTP version; returns the sockets whose version is not known yet. */
export function shareConnections({ server, connections, encryption, limits }: AcceptOptions): ReadonlySet<Socket> {
  const undecided = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    undecided.add(socket);
    // Without a listener the reset of a connection ends the process.
    socket.on("error", ignore).on("close", () => undecided.delete(socket));
    if (encryption) return void encryption.server.emit("connection", socket);
    readPreface(socket, limits.headerTimeoutMs, (version) => {
      undecided.delete(socket);
      connections.accept(socket, version);
    });
  });
  encryption?.server.on("secureConnection", (socket: TLSSocket) => {
    for (const other of undecided) if (isUnder(other, socket)) undecided.delete(other);
    socket.on("error", ignore);
    connections.accept(socket, socket.alpnProtocol === "h2" ? "2" : "1.1");
  });
  return undecided;
}

const isUnder = (other: Socket, encrypted: TLSSocket) =>
  other.remotePort === encrypted.remotePort && other.remoteAddress === encrypted.remoteAddress;

function ignore() {}
