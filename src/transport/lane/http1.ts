import type { IncomingMessage, ServerResponse } from "node:http";
import { refuse } from "../../errors.ts";
import { empty, mostBytes, sinkOf } from "./body.ts";
import type { Reply } from "./protocol.ts";
import { type Arrival, enter, fail, leave, run, type Ways } from "./visit.ts";

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };
type Carried = { readonly ways: Ways; readonly arrival: Arrival; readonly stopping: AbortSignal };

/** Carries a call over HTTP/1.1. */
export function carryHttp1({ request, response }: Exchange, { ways, arrival, stopping }: Carried): void {
  const { "content-length": length, "transfer-encoding": transfer, expect } = request.headers;
  // A client that waits to be told to go on, and is not, has not sent its body: the connection is of no more use.
  let waits = expect !== undefined;
  const send = (reply: Reply, requestId: string) => {
    try {
      answer(response, { reply, requestId, last: waits || stopping.aborted });
    } catch {
      response.destroy();
    }
  };
  request.on("error", ignore);
  response.on("error", ignore);
  const visit = enter(ways, arrival, send);
  response.on("close", () => leave(visit));
  if (length === undefined && transfer === undefined) return void run(visit, empty);
  if (Number(length ?? 0) > mostBytes(visit)) fail(visit, refuse.because("BODY_TOO_LARGE"));
  if (waits && visit.stage !== "over") {
    waits = false;
    response.writeContinue();
  }
  const { data, end } = sinkOf(visit);
  request.on("data", data).on("end", end);
}

// The end of the exchange says the same, and always comes.
function ignore() {}

type Answering = { readonly reply: Reply; readonly requestId: string; readonly last: boolean };

function answer(response: ServerResponse, { reply, requestId, last }: Answering): void {
  if (response.destroyed || response.headersSent) return;
  const body = reply.body ?? "";
  const headers = { "content-length": Buffer.byteLength(body), ...reply.headers, "x-request-id": requestId };
  response.writeHead(reply.status, last ? { ...headers, connection: "close" } : headers);
  response.end(body);
}
