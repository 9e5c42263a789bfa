import type { Server } from "node:http";
import { Duplex } from "node:stream";
import { maxHeaders } from "./head.ts";
import { createServer, IncomingMessage } from "./node_http.ts";

/** Callbacks of the parser for the requests of one connection, in order. */
export type Reader = {
  /** A head is complete. */
  readonly head: (request: ParsedRequest) => void;
  /** A part of the body has arrived. */
  readonly data: (part: Buffer) => void;
  /** The body is at its end. */
  readonly end: () => void;
  /** The bytes are not HTTP/1.1, and nothing after them can be read. */
  readonly failed: (code: string) => void;
};

/** Parses bytes of one connection, calling the reader before it returns. */
export type Parser = (bytes: Buffer) => void;

/** Attaches a parser to a socket; only the parser's reader receives the socket's bytes. */
export type OpenParser = (socket: Duplex, reader: Reader) => Parser;

/** A request as parsed by Node; its body goes to a reader, not through a stream. */
export class ParsedRequest extends IncomingMessage {
  /** Receives the body; without a reader, the body is dropped. */
  reader: Reader | undefined;

  /** Called by Node for each part of the body, and with null at its end. */
  override push(part: Buffer | null): boolean {
    if (part !== null) this.reader?.data(part);
    // Trailers are not used here, and are limited to as many as headers.
    else if (this.rawTrailers.length > 2 * maxHeaders) this.reader?.failed("HPE_HEADER_OVERFLOW");
    else this.reader?.end();
    return true;
  }
}

/** A socket to which Node's server has attached its parser. `onIncoming`, called for each head, is undocumented. */
type Parsed = { readonly parser?: { onIncoming?: unknown } | null };

/**
 * Opens the parsers of Node's own HTTP/1.1 server, whose strict llhttp reads heads and framing. Nothing else of that server is used: its
 * streams and response take 2 of the 9 microseconds of a small call, and its error responses have no body.
 */
export function http1Parsers(headersMaxBytes: number): OpenParser {
  const readers = new WeakMap<Duplex, Reader>();
  const server = parsingServer(headersMaxBytes);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Errors of the socket itself are followed by "close".
    if (error.code?.startsWith("HPE_")) readers.get(socket)?.failed(error.code);
  });
  const open: OpenParser = (socket, reader) => {
    readers.set(socket, reader);
    server.emit("connection", socket);
    const { parser } = socket as Parsed;
    const [feed, end] = [takeListener(socket, "data"), takeListener(socket, "end")];
    if (!parser?.onIncoming || !feed || !end) throw new Error("this version of Node parses HTTP/1.1 in an unknown way");
    parser.onIncoming = incoming.bind(undefined, reader);
    return feed;
  };
  checkParser(open);
  return open;
}

// The parser only receives complete heads within the limit, so `maxHeaderSize` limits the trailers.
function parsingServer(maxHeaderSize: number): Server {
  const server = createServer({ IncomingMessage: ParsedRequest, insecureHTTPParser: false, maxHeaderSize });
  // Node would silently drop headers beyond this count.
  server.maxHeadersCount = 0;
  return server;
}

/** Removes and returns the listener added last: the connection reads the socket, not Node's server. */
function takeListener(socket: Duplex, event: "data" | "end"): Parser | undefined {
  const last = socket.listeners(event).at(-1) as Parser | undefined;
  if (last) socket.off(event, last);
  return last;
}

function incoming(reader: Reader, request: ParsedRequest & { upgrade: boolean }): number {
  // Node would hand the socket to an upgrade listener; RFC 9110, 7.8 allows servers to ignore Upgrade.
  request.upgrade = false;
  reader.head(request);
  return 0;
}

/** Parses a sample, so that a Node whose parser works differently fails when the server starts and not during a call. */
function checkParser(open: OpenParser): void {
  const events: string[] = [];
  const reader: Reader = {
    head: (request) => {
      request.reader = reader;
      events.push(request.rawHeaders.join());
    },
    data: (part) => void events.push(part.toString()),
    end: () => void events.push("end"),
    failed: (code) => void events.push(code),
  };
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const parse = open(socket, reader);
  parse(Buffer.from("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  parse(Buffer.from("1\r\na\r\n0\r\n\r\n?\r\n"));
  socket.destroy();
  const expected = "Transfer-Encoding,chunked a end HPE_INVALID_METHOD";
  if (events.join(" ") !== expected)
    throw new Error(`this version of Node parses HTTP/1.1 in an unknown way: ${events}`);
}
