import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** What a connection turned out to speak. */
export type Version = "1.1" | "2";

/** Waits for the bytes that tell HTTP/2 from HTTP/1.1 and gives them back; a connection that keeps us waiting is cut. */
export function readPreface(socket: Socket, timeoutMs: number, decided: (version: Version) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const waiting = setTimeout(() => socket.destroy(), timeoutMs);
  const leave = () => {
    clearTimeout(waiting);
    socket.off("data", look).off("end", cut).off("close", leave);
  };
  const cut = () => socket.destroy();
  const look = (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    // POST, PUT and PATCH begin like it, so the first byte tells nothing.
    const likeIt = seen.subarray(0, preface.length).equals(preface.subarray(0, seen.length));
    if (likeIt && seen.length < preface.length) return;
    leave();
    socket.pause();
    socket.unshift(seen);
    decided(likeIt ? "2" : "1.1");
  };
  socket.on("data", look).on("end", cut).on("close", leave);
}
