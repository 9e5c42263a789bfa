import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The version of HTTP of a connection. */
export type Version = "1.1" | "2";

/** Recognizes HTTP/2 by its connection preface, and puts the bytes back; destroys a socket that takes too long. */
export function readPreface(socket: Socket, timeoutMs: number, onVersion: (version: Version) => void): void {
  let received: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const stop = () => {
    clearTimeout(timer);
    socket.off("data", read).off("end", destroy).off("close", stop);
  };
  const destroy = () => socket.destroy();
  const read = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    // POST, PUT and PATCH begin like the preface, so the first byte decides nothing.
    const isPrefix = received.subarray(0, preface.length).equals(preface.subarray(0, received.length));
    if (isPrefix && received.length < preface.length) return;
    stop();
    socket.pause();
    socket.unshift(received);
    onVersion(isPrefix ? "2" : "1.1");
  };
  socket.on("data", read).on("end", destroy).on("close", stop);
}
