import { setTimeout as pause } from "node:timers/promises";
import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { EventSchema, EventService, WatchEventsRequestSchema } from "../../gen/postern/v1/event_pb.ts";
import type { Connection } from "./connection.ts";
import { ownContract } from "./contract.ts";
import { failureOf } from "./failure.ts";

export type EventFilter = {
  readonly instance: boolean;
  readonly objectId: string;
  readonly actorId: string;
  readonly types: readonly string[];
  /** The position after which to begin; if empty, from now on. */
  readonly after: string;
};

/** How a watch ends, and how its caller learns of a broken stream. */
export type WatchOptions = {
  readonly signal: AbortSignal;
  /** Called when the stream broke and is being reopened. */
  readonly onLost: () => void;
};

const pauseMs = 1_000;

/** Yields events as they happen. A broken stream resumes after the last event, so none is missed. */
export async function* watchEvents(
  connection: Connection,
  filter: EventFilter,
  { signal, onLost }: WatchOptions,
): AsyncGenerator<JsonObject> {
  const { watchEvents } = createClient(EventService, connection.transport("connect"));
  let { after } = filter;
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
      }
    } catch (error) {
      const known = ConnectError.from(error);
      if (!isOpen || known.code !== Code.Unavailable || signal.aborted) throw failureOf(known);
    }
    onLost();
    await pause(pauseMs, undefined, { signal });
  }
}
