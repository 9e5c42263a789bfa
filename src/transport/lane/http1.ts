import type { IncomingMessage, ServerResponse } from "node:http";
import { receive } from "./body.ts";
import type { Reply } from "./protocol.ts";
import { type Arrival, enter, leave } from "./visit.ts";

/** Carries a call over HTTP/1.1. */
export function carryHttp1(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
  const { stopping } = arrival.parts;
  const send = (reply: Reply, requestId: string) => {
    try {
      answer(response, { reply, requestId, last: stopping.aborted });
    } catch {
      response.destroy();
    }
  };
  request.on("error", ignore);
  response.on("error", ignore);
  const visit = enter(arrival, send);
  response.on("close", () => leave(visit));
  if (request.headers.expect !== undefined) response.writeContinue();
  receive(visit, request);
}

// The end of the exchange says the same, and always comes.
function ignore() {}

type Answering = { readonly reply: Reply; readonly requestId: string; readonly last: boolean };

function answer(response: ServerResponse, { reply, requestId, last }: Answering): void {
  if (response.destroyed || response.headersSent) return;
  const body = reply.body ?? "";
  const headers = { ...reply.headers, "x-request-id": requestId, "content-length": Buffer.byteLength(body) };
  response.writeHead(reply.status, last ? { ...headers, connection: "close" } : headers);
  response.end(body);
}
