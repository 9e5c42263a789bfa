import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ClientAddresses } from "./client_address.ts";
import type { Connections } from "./connections.ts";
import { readFirstBytes } from "./first_bytes.ts";
import { readPreface } from "./preface.ts";
import { readProxyHeader } from "./proxy_header.ts";
import type { Encryption } from "./tls.ts";

/** A listening server and the connections that it hands its sockets to. */
export type AcceptOptions = {
  readonly server: Server;
  readonly connections: Connections;
  readonly encryption?: Encryption | undefined;
  readonly limits: { readonly headerTimeoutMs: number };
  /** The proxies that may name the client of a connection by a PROXY header. */
  readonly addresses?: ClientAddresses | undefined;
};

/** Hands each new socket over by its HTTP version; returns the sockets whose version is not known yet. */
export function shareConnections(options: AcceptOptions): ReadonlySet<Socket> {
  const { server, connections, encryption, limits, addresses } = options;
  const undecided = new Set<Socket>();
  const clients = new WeakMap<Socket, string>();

  function decide(socket: Socket): void {
    if (encryption) return void encryption.server.emit("connection", socket);
    readPreface(socket, limits.headerTimeoutMs, (version) => {
      undecided.delete(socket);
      connections.accept(socket, version, clients.get(socket));
    });
  }

  server.on("connection", (socket: Socket) => {
    undecided.add(socket);
    // Without a listener the reset of a connection ends the process.
    socket.on("error", ignore).on("close", () => undecided.delete(socket));
    if (!addresses?.isProxy(socket.remoteAddress)) return decide(socket);
    readClient(socket, limits.headerTimeoutMs, (client) => {
      if (client !== undefined) clients.set(socket, client);
      decide(socket);
    });
  });
  encryption?.server.on("secureConnection", (socket: TLSSocket) => {
    let client: string | undefined;
    for (const other of undecided) {
      if (!isUnder(other, socket)) continue;
      undecided.delete(other);
      client = clients.get(other);
    }
    socket.on("error", ignore);
    connections.accept(socket, socket.alpnProtocol === "h2" ? "2" : "1.1", client);
  });
  return undecided;
}

/** Reads the PROXY header of a trusted proxy's connection, if it has one. */
function readClient(socket: Socket, timeoutMs: number, onClient: (client: string | undefined) => void): void {
  const decide = (received: Buffer) => {
    const header = readProxyHeader(received);
    switch (header) {
      case "incomplete":
        return undefined;
      case "malformed":
        return "refused";
      case "absent":
        return { value: undefined, takenBytes: 0 };
      default:
        return { value: header.client, takenBytes: header.length };
    }
  };
  readFirstBytes(socket, { timeoutMs, decide, onDecided: onClient });
}

const isUnder = (other: Socket, encrypted: TLSSocket) =>
  other.remotePort === encrypted.remotePort && other.remoteAddress === encrypted.remoteAddress;

function ignore() {}
