import type { Socket } from "node:net";

/** A decision based on a socket's first bytes. */
export type Decision<T> = {
  readonly value: T;
  /** The number of bytes that belong to the decision; later ones are put back. */
  readonly takenBytes: number;
};

/** How the first bytes are read. */
export type FirstBytesOptions<T> = {
  readonly timeoutMs: number;
  /** Decides by the bytes received so far; undefined if it needs more, "refused" if more will not help. */
  readonly decide: (received: Buffer) => Decision<T> | "refused" | undefined;
  /** Called once; the socket is paused. */
  readonly onDecided: (value: T) => void;
};

/** Reads the first bytes of a socket until they decide; destroys a socket that takes too long, ends, or is refused. */
export function readFirstBytes<T>(socket: Socket, { timeoutMs, decide, onDecided }: FirstBytesOptions<T>): void {
  let received: Buffer = Buffer.alloc(0);
  const destroy = () => void socket.destroy();
  const timer = setTimeout(destroy, timeoutMs);
  const stop = () => {
    clearTimeout(timer);
    socket.off("data", read).off("end", destroy).off("close", stop);
  };
  const read = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const decision = decide(received);
    if (decision === undefined) return;
    stop();
    if (decision === "refused") return destroy();
    socket.pause();
    if (received.length > decision.takenBytes) socket.unshift(received.subarray(decision.takenBytes));
    onDecided(decision.value);
  };
  socket.on("data", read).on("end", destroy).on("close", stop);
  socket.resume();
}
