import { constants, type ServerHttp2Stream } from "node:http2";
import { receive } from "./body.ts";
import type { Reply } from "./protocol.ts";
import { type Arrival, awaitBody, enter, leave, type Ways } from "./visit.ts";

type Carried = { readonly ways: Ways; readonly arrival: Arrival };

/** Carries a call over a stream of HTTP/2. */
export function carryHttp2(stream: ServerHttp2Stream, { ways, arrival }: Carried): void {
  stream.on("error", ignore);
  const visit = enter(ways, arrival, (reply, requestId) => {
    try {
      answer(stream, reply, requestId);
    } catch {
      stream.destroy();
    }
  });
  stream.on("close", () => {
    leave(visit);
    release(stream);
  });
  // HTTP/1.1 has a time-out for bodies in Node; here a body may go on for ever.
  awaitBody(visit);
  receive(visit, stream);
}

// A stream outlives the next collection of young garbage; what hangs on it should not: that halves the time of the collector.
function release(stream: ServerHttp2Stream): void {
  stream.removeAllListeners();
  stream.on("error", ignore);
}

// The end of the stream says the same, and always comes.
function ignore() {}

const { NGHTTP2_NO_ERROR } = constants;

// No client of gRPC reads a date.
const withTrailers = { waitForTrailers: true, sendDate: false };

function answer(stream: ServerHttp2Stream, { status, headers, body, trailers }: Reply, requestId: string): void {
  if (stream.destroyed || stream.closed) return;
  // RFC 9113, 8.1: an answer before the end of the request asks the client to send no more of it.
  if (!stream.readableEnded) stream.on("finish", () => stream.close(NGHTTP2_NO_ERROR));
  const all = { ":status": status, ...headers, "x-request-id": requestId };
  if (trailers) {
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.respond(all, withTrailers);
    stream.end(body);
  } else if (body === undefined) stream.respond(all, { endStream: true });
  else {
    stream.respond({ "content-length": Buffer.byteLength(body), ...all });
    stream.end(body);
  }
}
