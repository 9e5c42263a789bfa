import { once } from "node:events";
import { connect } from "node:net";
import type { Load } from "./generator.ts";
import { requestOf } from "./recipes.ts";
import type { Wire } from "./worker.ts";

/** One connection of HTTP/1.1, read and written by hand: the generator must cost little beside what it measures. */
export async function jsonCaller({ url, token, recipe }: Load): Promise<Wire> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let waiting: { resolve: (granted: boolean) => void; reject: (error: Error) => void } | undefined;
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
    const head = text.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (text.length < head + 4 + length) return;
    const granted = text.startsWith("HTTP/1.1 200");
    text = "";
    waiting?.resolve(granted);
  });
  socket.on("error", (error) => waiting?.reject(error));
  socket.on("close", () => waiting?.reject(new Error("the server closed a connection")));
  const common = `host: ${host}\r\nauthorization: Bearer ${token}\r\n`;
  return {
    send: (n) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        const { method, path, body } = requestOf(recipe, n);
        const json = body === undefined ? "" : JSON.stringify(body);
        const about = body === undefined ? "" : `content-type: application/json\r\ncontent-length: ${json.length}\r\n`;
        socket.write(`${method} ${path} HTTP/1.1\r\n${common}${about}\r\n${json}`);
      }),
    [Symbol.dispose]: () => socket.destroy(),
  };
}
