import { httpDate } from "../../http/date.ts";
import type { Exchange } from "../../http/exchange.ts";
import type { Reply } from "../protocols/protocol.ts";
import { announced, sinkOf } from "./body.ts";
import { type Arrival, admitted, awaitBody, enter, leave, type Visit, type Ways } from "./visit.ts";

type Carried = { readonly ways: Ways; readonly arrival: Arrival };

/** Carries a call from its headers to its answer. */
export function carry(exchange: Exchange, { ways, arrival }: Carried): void {
  const visit = enter(ways, arrival, (reply, requestId) => {
    try {
      exchange.answer(marked(reply, requestId));
    } catch {
      exchange.giveUp();
    }
  });
  const gone = () => leave(visit);
  exchange.onClose = gone;
  // A connection of HTTP/1.1 looks after its one request itself; of HTTP/2 a body may go on for ever.
  if (!exchange.ended && exchange.version === "2") awaitBody(visit);
  const pending = admitted(visit);
  if (pending) pending.then(() => receive(exchange, visit));
  else receive(exchange, visit);
}

/** Reads the body of a call that was admitted; a call that was refused is over. */
function receive(exchange: Exchange, visit: Visit): void {
  if (announced(visit)) exchange.receive(sinkOf(visit));
}

function marked({ status, headers, body, trailers }: Reply, requestId: string): Reply {
  // No client of gRPC reads a date.
  const own = trailers ? undefined : { ...(body !== undefined && lengthOf(body)), date: httpDate() };
  return { status, headers: { ...own, ...headers, "x-request-id": requestId }, body, trailers };
}

const lengthOf = (body: Uint8Array | string) => ({ "content-length": String(Buffer.byteLength(body)) });
