import { begin, type Client, open, type Wire } from "./client.ts";

/** A request of HTTP/1.1 as bytes. */
export function requestBytes(
  { host, port }: Pick<Client, "host" | "port">,
  { method, path, headers, body }: Request,
): Buffer {
  const fields = {
    host: `${host}:${port}`,
    ...headers,
    ...(body.length > 0 && { "content-length": `${body.length}` }),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"), body]);
}

/** A request of HTTP/1.1. */
export type Request = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** A connection on which requests follow one another. */
export type Http1 = Disposable & {
  readonly wire: Wire;
  /** Writes a request and waits for the end of its answer, or of the connection. */
  readonly exchange: (bytes: Uint8Array) => Promise<void>;
};

/** Opens one. */
export async function openHttp1(client: Client): Promise<Http1> {
  const wire = await open(client);
  const reader = answers();
  wire.socket.on("data", reader.take);
  wire.closed.then(reader.close);
  return {
    wire,
    async exchange(bytes) {
      const done = begin(client, bytes.length);
      const answered = reader.next();
      const sent = wire.write(bytes);
      done(await answered);
      await sent;
    },
    [Symbol.dispose]: () => wire[Symbol.dispose](),
  };
}

/** Finds the ends of answers, of which it keeps the head and the last few bytes. */
function answers() {
  let resolve: ((bytes: number) => void) | undefined;
  let head = "";
  let tail = "";
  let size = 0;
  let whole: number | undefined;
  let closed = false;

  return {
    take(part: Buffer) {
      size += part.length;
      tail = (tail + part.toString("latin1", Math.max(0, part.length - ending.length))).slice(-ending.length);
      if (whole === undefined) {
        head += part.toString("latin1", 0, mostHead);
        whole = lengthOf(head);
      }
      if (whole === Number.POSITIVE_INFINITY ? tail === ending : size >= (whole ?? Number.POSITIVE_INFINITY)) settle();
    },
    close() {
      closed = true;
      settle();
    },
    next(): Promise<number> {
      [head, tail, size, whole] = ["", "", 0, undefined];
      const { promise, resolve: done } = Promise.withResolvers<number>();
      resolve = done;
      if (closed) settle();
      return promise;
    },
  };

  function settle(): void {
    resolve?.(size);
    resolve = undefined;
  }
}

// RFC 9112, 7.1: the last chunk is empty; no answer here has trailers.
const ending = "\r\n0\r\n\r\n";
const mostHead = 32_768;

/** The bytes of a whole answer; infinite for one in chunks, undefined as long as its head is not complete. */
function lengthOf(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const fields = text.slice(0, head);
  if (/^HTTP\/1.1 (1\d\d|204|304)/.test(fields)) return head + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(fields)?.[1];
  return length === undefined ? Number.POSITIVE_INFINITY : head + 4 + Number(length);
}
