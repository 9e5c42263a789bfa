import { constants, type ServerHttp2Stream } from "node:http2";
import { refuse } from "../../errors.ts";
import { receive } from "./body.ts";
import type { Reply } from "./protocol.ts";
import { type Arrival, enter, fail, leave, type Visit } from "./visit.ts";

/** Carries a call over a stream of HTTP/2. */
export function carryHttp2(stream: ServerHttp2Stream, taken: Omit<Arrival, "send">): void {
  stream.on("error", ignore);
  const visit = enter({ ...taken, send: (reply, requestId) => answer(stream, reply, requestId) });
  // HTTP/1.1 has a time-out for bodies in Node; here a body may go on for ever.
  const timer = setTimeout(tooSlow, taken.parts.limits.bodyTimeoutMs, visit);
  stream.on("end", () => clearTimeout(timer));
  stream.on("close", () => {
    clearTimeout(timer);
    leave(visit);
  });
  receive(visit, stream);
}

// The end of the stream says the same, and always comes.
function ignore() {}

const tooSlow = (visit: Visit) => fail(visit, refuse.because("DEADLINE_EXCEEDED"));

const { NGHTTP2_NO_ERROR } = constants;

function answer(stream: ServerHttp2Stream, { status, headers, body, trailers }: Reply, requestId: string): void {
  if (stream.destroyed || stream.closed) return;
  // RFC 9113, 8.1: an answer before the end of the request asks the client to send no more of it.
  if (!stream.readableEnded) stream.on("finish", () => stream.close(NGHTTP2_NO_ERROR));
  const all = { ":status": status, ...headers, "x-request-id": requestId };
  if (trailers) {
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.respond(all, { waitForTrailers: true });
    stream.end(body);
  } else if (body === undefined) stream.respond(all, { endStream: true });
  else {
    stream.respond(all);
    stream.end(body);
  }
}
