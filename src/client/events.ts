import { setTimeout as pause } from "node:timers/promises";
import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { EventSchema, EventService, WatchEventsRequestSchema } from "../../gen/postern/v1/event_pb.ts";
import type { Connection } from "./connection.ts";
import { ownContract } from "./contract.ts";
import { failureOf } from "./failure.ts";

export type EventFilter = {
  readonly instance: boolean;
  readonly objectId: string;
  readonly actorId: string;
  readonly aboutUserId: string;
  readonly projectId: string;
  readonly onBehalfOfId: string;
  readonly types: readonly string[];
  /** The position after which to begin; if empty, from now on. */
  readonly after: string;
};

/** How a watch ends, and how its caller learns of a broken stream. */
export type WatchOptions = {
  readonly signal: AbortSignal;
  /** Called when the stream broke and is being reopened; with the position to continue after if the log lost the end of its history. */
  readonly onLost: (position?: string) => void;
  /** The positions of events that were seen before, the latest last. */
  readonly seen?: readonly string[];
};

const pauseMs = 1_000;
// The service names the last ten positions that it still has, out of thousands of events.
const mostSeen = 10_000;

/**
 * Yields events as they happen. A broken stream resumes after the last event, so none is missed; if the log lost that event, after the last
 * seen one that the log still has.
 */
export async function* watchEvents(
  connection: Connection,
  filter: EventFilter,
  { signal, onLost, seen: before = [] }: WatchOptions,
): AsyncGenerator<JsonObject> {
  const { watchEvents } = createClient(EventService, connection.transport("connect"));
  let { after } = filter;
  let seen = [...before];
  for (let isOpen = false; ; ) {
    const request = create(WatchEventsRequestSchema, { ...filter, types: [...filter.types], after });
    const onHeader = () => {
      isOpen = true;
    };
    try {
      for await (const { event } of watchEvents(request, { signal, onHeader })) {
        if (!event) continue;
        yield toJson(EventSchema, event, { registry: ownContract.types, alwaysEmitImplicit: true }) as JsonObject;
        after = event.position;
        if (seen.push(after) >= 2 * mostSeen) seen = seen.slice(-mostSeen);
      }
      onLost();
    } catch (error) {
      const known = ConnectError.from(error);
      const held = seen.length > 0 ? heldPosition(known, new Set(seen)) : undefined;
      if (held === undefined && (!isOpen || known.code !== Code.Unavailable || signal.aborted)) throw failureOf(known);
      after = held ?? after;
      onLost(held);
    }
    await pause(pauseMs, undefined, { signal });
  }
}

/** The last seen position that the log still has, or its beginning, if the log lost the end of its history. */
function heldPosition(error: ConnectError, seen: ReadonlySet<string>): string | undefined {
  const info = error.findDetails(ErrorInfoSchema)[0];
  if (info?.reason !== "POSITION_LOST") return undefined;
  return info.metadata.positions?.split(",").find((position) => seen.has(position)) ?? "0";
}
