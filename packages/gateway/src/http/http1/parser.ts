import { createServer, IncomingMessage, type Server } from "node:http";
import { Duplex } from "node:stream";

/** Takes the requests of one connection, one after the other, as the parser finds them. */
export type Reader = {
  /** A head is complete. */
  readonly head: (request: ParsedRequest) => void;
  /** A part of the body of a request that was given this reader. */
  readonly data: (part: Buffer) => void;
  /** The body is at its end. */
  readonly end: () => void;
  /** The bytes are no HTTP/1.1; nothing can be read after them. */
  readonly failed: (code: string) => void;
};

/** The parser of one connection: it takes bytes, and calls its reader before it returns. */
export type Parser = (bytes: Buffer) => void;

/** Gives a socket its parser; nothing but the parser's reader hears of what comes. */
export type OpenParser = (socket: Duplex, reader: Reader) => Parser;

/** A request as Node's parser reads it; its body goes to a reader, not through a stream. */
export class ParsedRequest extends IncomingMessage {
  /** Takes the body; without one it is dropped. */
  reader: Reader | undefined;

  /** Called by Node for each part of the body, and with null for its end. */
  override push(part: Buffer | null): boolean {
    if (part === null) this.reader?.end();
    else this.reader?.data(part);
    return true;
  }
}

/** What Node's server leaves on a socket; what its parser calls for each head is documented nowhere. */
type Parsed = { readonly parser?: { onIncoming?: unknown } | null };

/**
 * Opens parsers by Node's own server of HTTP/1.1: its strict llhttp reads heads and framing. Nothing else of that server is
 * used: its streams and its response cost 2 of 9 microseconds of a small call, and its refusals have no body.
 */
export function http1Parsers(headersMaxBytes: number): OpenParser {
  const readers = new WeakMap<Duplex, Reader>();
  const server = parsingServer(headersMaxBytes);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // A socket that broke closes as well.
    if (error.code?.startsWith("HPE_")) readers.get(socket)?.failed(error.code);
  });
  const open: OpenParser = (socket, reader) => {
    readers.set(socket, reader);
    server.emit("connection", socket);
    const { parser } = socket as Parsed;
    const [feed, end] = [taken(socket, "data"), taken(socket, "end")];
    if (!parser?.onIncoming || !feed || !end) throw new Error("this Node reads HTTP/1.1 in a way that is not known");
    parser.onIncoming = incoming.bind(undefined, reader);
    return feed;
  };
  tryOut(open);
  return open;
}

// A head comes to it whole, and no larger than that; trailers are bounded here.
function parsingServer(maxHeaderSize: number): Server {
  const server = createServer({ IncomingMessage: ParsedRequest, insecureHTTPParser: false, maxHeaderSize });
  // It would drop headers beyond its limit in silence.
  server.maxHeadersCount = 0;
  return server;
}

/** Takes away the listener that was added last: what is read of a socket goes through its connection. */
function taken(socket: Duplex, event: "data" | "end"): Parser | undefined {
  const last = socket.listeners(event).at(-1) as Parser | undefined;
  if (last) socket.off(event, last);
  return last;
}

function incoming(reader: Reader, request: ParsedRequest & { upgrade: boolean }): number {
  // Node would give the socket away; RFC 9110, 7.8 lets a server overlook Upgrade.
  request.upgrade = false;
  reader.head(request);
  return 0;
}

/** Reads a request, so that a Node whose parser works otherwise stops the server at its start, and not its clients. */
function tryOut(open: OpenParser): void {
  const found: string[] = [];
  const reader: Reader = {
    head: (request) => {
      request.reader = reader;
      found.push(request.rawHeaders.join());
    },
    data: (part) => void found.push(part.toString()),
    end: () => void found.push("end"),
    failed: (code) => void found.push(code),
  };
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const parse = open(socket, reader);
  parse(Buffer.from("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  parse(Buffer.from("1\r\na\r\n0\r\n\r\n?\r\n"));
  socket.destroy();
  const expected = "Transfer-Encoding,chunked a end HPE_INVALID_METHOD";
  if (found.join(" ") !== expected) throw new Error(`this Node reads HTTP/1.1 in a way that is not known: ${found}`);
}
