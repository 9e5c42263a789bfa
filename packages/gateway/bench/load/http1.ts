import { once } from "node:events";
import { connect } from "node:net";
import type { Wire } from "./wire.ts";

/** One connection of HTTP/1.1, read and written by hand: the generator must cost little beside what it measures. */
export async function http1Wire(url: string, writtenOf: (n: number) => string | Buffer): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let waiting: { resolve: (granted: boolean) => void; reject: (error: Error) => void } | undefined;
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
    if (!isWhole(text)) return;
    const granted = text.startsWith("HTTP/1.1 200");
    text = "";
    waiting?.resolve(granted);
  });
  socket.on("error", (error) => waiting?.reject(error));
  socket.on("close", () => waiting?.reject(new Error("the server closed a connection")));
  return {
    send: (n) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(writtenOf(n));
      }),
    [Symbol.dispose]: () => socket.destroy(),
  };
}

function isWhole(text: string): boolean {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  // RFC 9112, 7.1: the last chunk is empty; no answer here has trailers.
  return length === undefined ? text.endsWith("\r\n0\r\n\r\n") : text.length >= head + 4 + Number(length);
}
