import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ClientAddresses } from "./client_address.ts";
import type { Connections } from "./connections.ts";
import { readFirstBytes } from "./first_bytes.ts";
import { readPreface } from "./preface.ts";
import { readProxyHeader } from "./proxy_header.ts";
import type { Encryption } from "./tls.ts";

/** The connections that receive sockets, and how their version is determined. */
export type AcceptOptions = {
  readonly connections: Connections;
  readonly encryption?: Encryption | undefined;
  readonly limits: { readonly headerTimeoutMs: number };
  /** The proxies that may name a connection's client in a PROXY header. */
  readonly addresses?: ClientAddresses | undefined;
};

/** Hands over each new socket by its HTTP version. */
export type Sharing = {
  readonly accept: (socket: Socket) => void;
  /** The sockets whose version is not known yet. */
  readonly undecided: ReadonlySet<Socket>;
};

/** Determines the HTTP version of each socket, and hands it to the connections. */
export function shareConnections(options: AcceptOptions): Sharing {
  const { connections, encryption, limits, addresses } = options;
  const undecided = new Set<Socket>();
  const clients = new WeakMap<Socket, string>();

  function decide(socket: Socket): void {
    if (encryption) return void encryption.server.emit("connection", socket);
    readPreface(socket, limits.headerTimeoutMs, (version) => {
      undecided.delete(socket);
      connections.accept(socket, version, clients.get(socket));
    });
  }

  function accept(socket: Socket): void {
    undecided.add(socket);
    // Without a listener, a connection reset would end the process.
    socket.on("error", ignore).on("close", () => undecided.delete(socket));
    if (!addresses?.isProxy(socket.remoteAddress)) {
      decide(socket);
      return;
    }
    readClient(socket, limits.headerTimeoutMs, (client) => {
      if (client !== undefined) clients.set(socket, client);
      decide(socket);
    });
  }

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
  return { accept, undecided };
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
