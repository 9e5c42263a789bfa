import { setTimeout as pause } from "node:timers/promises";
import { clientOf } from "../harness.ts";

/** What an event says of its place and its object. */
export type Told = Readonly<Record<"position" | "type" | "objectId" | "sequence" | "resourceOwner", string>>;

/** An application that follows the log. */
export type Follower = {
  /** The events that it was told, in their order. */
  readonly told: readonly Told[];
  /** How often its stream ended, so that it went on after the last position. */
  readonly ends: () => number;
  readonly stop: () => Promise<void>;
};

type At = { readonly url: string; readonly token: string };

/** Follows the events of the whole instance at a node from now on, and goes on after the last one whenever the stream ends. */
export async function followLog({ url, token }: At): Promise<Follower> {
  const told: Told[] = [];
  const over = new AbortController();
  const { body } = await clientOf(url, token).get("/v1/events?instance=true&pageSize=1");
  let after: string = body.events[0].position;
  let ends = 0;
  const watch = () =>
    fetch(`${url}/v1/events:watch?instance=true&after=${after}`, {
      headers: { authorization: `Bearer ${token}`, accept: "application/x-ndjson" },
      signal: over.signal,
    });
  const read = async () => {
    for await (const event of eventsOf(await watch())) {
      told.push(event);
      after = event.position;
    }
  };
  const reading = (async () => {
    for (;;) {
      await read().catch(() => {});
      if (over.signal.aborted) return;
      ends += 1;
      await pause(100);
    }
  })();
  return {
    told,
    ends: () => ends,
    async stop() {
      over.abort();
      await reading;
    },
  };
}

async function* eventsOf({ body }: Response): AsyncGenerator<Told> {
  let rest = "";
  for await (const part of (body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { event, result } = line ? JSON.parse(line) : {};
      if (event ?? result?.event) yield event ?? result.event;
    }
  }
}
