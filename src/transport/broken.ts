import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Door } from "./door.ts";
import type { Answer, Asked } from "./exchange.ts";
import { HeaderFields } from "./lane/protocol.ts";

/** A request over HTTP/1.1 with its answer. */
export type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };
/** A connection whose bytes are no HTTP, and the exchange that ran on it last. */
export type Broken = {
  readonly error: NodeJS.ErrnoException;
  readonly socket: Duplex;
  readonly exchange: Exchange | undefined;
};

/** Answers bytes that the HTTP parser gave up on, unless an answer to something else is on its way. */
export async function refuseBroken(
  { error, socket, exchange }: Broken,
  door: Door,
  stopping: AbortSignal,
): Promise<void> {
  const running = exchange && !exchange.response.writableFinished;
  const midAnswer = running && (exchange.response.headersSent || exchange.request.complete);
  if (error.code === "ECONNRESET" || !socket.writable || midAnswer) {
    socket.destroy();
    return;
  }
  const flaw = flawOf(error.code);
  const answer = await door({ ...nothing, flaw, stopping });
  const text = rawAnswer(flaw === "DEADLINE_EXCEEDED" ? { ...answer, status: 408 } : answer);
  socket.end(text, () => socket.destroy());
}

const nothing: Omit<Asked, "stopping"> = {
  version: "1.1",
  method: "",
  authority: "",
  target: "",
  headers: new HeaderFields({}),
  signal: new AbortController().signal,
  expire: () => {},
  messageMaxBytes: 0,
  body: async () => new Uint8Array(0),
  chunks: async function* () {},
};

function flawOf(code: string | undefined): NonNullable<Asked["flaw"]> {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "HEADERS_TOO_LARGE";
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "DEADLINE_EXCEEDED";
    default:
      return "MALFORMED_REQUEST";
  }
}

function rawAnswer({ status, headers, body }: Answer): string {
  const text = typeof body === "string" ? body : "";
  const all = { ...headers, connection: "close", "content-length": Buffer.byteLength(text) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${text}`;
}
