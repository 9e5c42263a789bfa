import { type DescMethod, hasOption, type Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { outcomes_unless } from "../../gen/postern/v1/options_pb.ts";
import { refuse } from "../errors.ts";
import { takeHeavyTurn } from "../security/pace.ts";
import { NoPlace, placesFor } from "../security/places.ts";
import { callOf, forEachMethod, type Next, type UnaryRequest } from "./interceptor.ts";
import { recheckMs } from "./recheck.ts";

// Each keeps a process of the database busy and holds its items in memory; an import sends as many batches at once.
const places = { limit: 4, waitMs: 30_000 };

const usualItems = 32;
const usualPage = 100;

/**
 * Limits the batches and long pages that a node works on at once. Organizations take turns, and one alone leaves a place to others. While
 * others call, those of an organization keep a pace. A call that waited for long is checked again before its work begins.
 */
export function largeCalls(checkedAgain: Interceptor): Interceptor {
  const inPlace = placesFor(places);
  const isLarge = forEachMethod(sizeOf);
  return (next) => {
    const checked = checkedAgain(next);
    return (request) => {
      if (request.stream || !isLarge(request.method)(request.message)) return next(request);
      return atItsPace(request, (waitedMs) => (waitedMs > recheckMs ? checked(request) : next(request))).catch(inWords);
    };
  };

  async function atItsPace(request: UnaryRequest, work: (waitedMs: number) => ReturnType<Next>) {
    const arrived = performance.now();
    // For the turn and the place together: a call that never began is told so before its deadline.
    const overdue = new AbortController();
    const timer = setTimeout(() => overdue.abort(new NoPlace("no turn")), places.waitMs);
    try {
      const signal = AbortSignal.any([callOf(request).signal, overdue.signal]);
      using turn = await takeHeavyTurn({ signal });
      const begun = () => {
        turn.begin();
        return work(performance.now() - arrived);
      };
      return await inPlace(begun, { signal });
    } finally {
      clearTimeout(timer);
    }
  }
}

function inWords(error: unknown): never {
  throw error instanceof NoPlace ? refuse.because("OVERLOADED", { retrySeconds: 1 }) : error;
}

/** Whether a request of an rpc is large. */
function sizeOf({ input, methodKind }: DescMethod): (message: Message) => boolean {
  const items = input.fields.find((field) => hasOption(field, outcomes_unless));
  const page = input.fields.find(({ name, scalar }) => name === "page_size" && scalar !== undefined);
  if (methodKind !== "unary" || !(items ?? page)) return () => false;
  return (message) => {
    const fields = message as Message & Record<string, { readonly length: number } | number>;
    const list = items && fields[items.localName];
    const size = page && fields[page.localName];
    return (typeof list === "object" && list.length > usualItems) || (typeof size === "number" && size > usualPage);
  };
}
