import type { Socket } from "node:net";
import type { ConnectionSource } from "@postern/gateway";
import type { PortName, ToParent } from "./message.ts";

/** The source of connections handed over by the parent. */
export type HandedSource = ConnectionSource & {
  /** Takes a connection; undefined if it ended on the way. */
  readonly take: (socket: Socket | undefined) => void;
  /** Called when no more connections will arrive. */
  readonly closed: () => void;
};

export type HandedSourceOptions = {
  readonly name: PortName;
  readonly port: number;
  readonly send: (message: ToParent) => void;
  /** Called with the change in the number of open connections. */
  readonly onChange: (change: number) => void;
};

/** Makes the source of one port. */
export function handedSource({ name, port, send, onChange }: HandedSourceOptions): HandedSource {
  let open = 0;
  let isClosed = false;
  let listener = (socket: Socket): void => void socket.destroy();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { promise: closing, resolve: close } = Promise.withResolvers<void>();
  const endIfOver = () => {
    if (isClosed && open === 0) end();
  };
  const count = (change: number) => {
    open += change;
    onChange(change);
    endIfOver();
  };
  return {
    async open(onConnection) {
      listener = onConnection;
      send({ kind: "open", port: name });
      return port;
    },
    take(socket) {
      send({ kind: "taken", port: name });
      if (!socket) return;
      count(1);
      socket.once("close", () => count(-1));
      listener(socket);
    },
    closed() {
      isClosed = true;
      close();
      endIfOver();
    },
    // The parent responds with `closed`, after the connections that were on their way.
    async close() {
      send({ kind: "close", port: name });
      await closing;
    },
    ended,
  };
}
