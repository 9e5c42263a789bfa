import { once } from "node:events";
import { connect } from "node:net";
import type { Calls } from "./generator.ts";
import type { Wire } from "./wire.ts";

type Http1Calls = Extract<Calls, { http: "1" }>;

/** A call that is under way, and how many of its further requests were made. */
type Waiting = {
  readonly n: number;
  step: number;
  readonly resolve: (granted: boolean) => void;
  readonly reject: (error: Error) => void;
};

/** One connection of HTTP/1.1, read and written by hand: the generator must cost little beside what it measures. */
export async function http1Wire(url: string, calls: Http1Calls, caller = 0): Promise<Wire> {
  const { bytes, further = [], isRight = isOk } = calls;
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let waiting: Waiting | undefined;
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
    if (!isWhole(text)) return;
    const whole = text;
    text = "";
    if (waiting) goOn(waiting, whole);
  });
  socket.on("error", (error) => waiting?.reject(error));
  socket.on("close", () => waiting?.reject(new Error("the server closed a connection")));
  return {
    send: (n) =>
      new Promise((resolve, reject) => {
        waiting = { n, step: 0, resolve, reject };
        write(bytes(n, caller), reject);
      }),
    [Symbol.dispose]: () => socket.destroy(),
  };

  function goOn(one: Waiting, response: string): void {
    const next = further[one.step++];
    const request = next?.(response, one.n, caller);
    if (!next) one.resolve(isRight(response, one.n, caller));
    else if (request === undefined) one.resolve(false);
    else write(request, one.reject);
  }

  // Nothing else is heard of a connection that was closed between two requests.
  function write(request: string | Buffer, reject: Waiting["reject"]): void {
    socket.write(request, (error) => error && reject(error));
  }
}

const isOk = (response: string) => response.startsWith("HTTP/1.1 200");

function isWhole(text: string): boolean {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return false;
  // RFC 9110, 15.3.5: 204 has no content, and says nothing of its length.
  if (text.startsWith("HTTP/1.1 204")) return true;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
  // RFC 9112, 7.1: the last chunk is empty; no answer here has trailers.
  return length === undefined ? text.endsWith("\r\n0\r\n\r\n") : text.length >= head + 4 + Number(length);
}
