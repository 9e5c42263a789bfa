import { codes } from "../h2/protocol.ts";
import type { Stream } from "../h2/stream.ts";
import { httpDate } from "../http_date.ts";
import { sinkOf } from "./body.ts";
import type { Reply } from "./protocol.ts";
import { type Arrival, awaitBody, enter, leave, type Ways } from "./visit.ts";

type Carried = { readonly ways: Ways; readonly arrival: Arrival };

/** Carries a call over a stream of HTTP/2. */
export function carryHttp2(stream: Stream, { ways, arrival }: Carried): void {
  const visit = enter(ways, arrival, (reply, requestId) => {
    try {
      answer(stream, reply, requestId);
    } catch {
      stream.close(codes.internal);
    }
  });
  stream.onClose = () => leave(visit);
  // HTTP/1.1 has a time-out for bodies in Node; here a body may go on for ever.
  if (!stream.ended) awaitBody(visit);
  stream.receive(sinkOf(visit));
}

function answer(stream: Stream, { status, headers, body, trailers }: Reply, requestId: string): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  // No client of gRPC reads a date.
  const own = trailers ? undefined : { ...(bytes && { "content-length": String(bytes.length) }), date: httpDate() };
  stream.answer({ status, headers: { ...own, ...headers, "x-request-id": requestId }, body: bytes, trailers });
}
