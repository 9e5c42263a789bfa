import type { EventJson } from "../../gen/postern/v1/event_pb.ts";
import { myId } from "../sign_in/me.ts";
import { renew, token, used } from "../sign_in/sign_in.ts";
import { after, call, send } from "./client.ts";
import { Refusal } from "./refusal.ts";

type Following = {
  readonly organizationId: string;
  readonly onEvent: (event: EventJson) => void;
  readonly onStanding: (isLive: boolean) => void;
  readonly signal: AbortSignal;
};

/** The messages between tabs: an event, the state of the stream, and the question about it. */
type Message =
  | { readonly event: EventJson }
  | { readonly isLive: boolean; readonly last: string | undefined }
  | { readonly asks: true };

/**
 * Follows the events of an organization as they happen. Browsers open few connections to a server, so the tabs of a user share
 * one stream: the tab that has the lock reads it, and tells the others.
 */
export function follow(following: Following): void {
  const { signal } = following;
  const seen: Seen = { last: undefined };
  let hiding = new AbortController();
  const begin = () => {
    hiding = new AbortController();
    followShown({ ...following, signal: AbortSignal.any([signal, hiding.signal]) }, seen);
  };
  // A page in the browser's back-forward cache would keep the stream, too.
  addEventListener("pagehide", () => hiding.abort(), { signal });
  addEventListener("pageshow", ({ persisted }) => persisted && begin(), { signal });
  begin();
}

/** The position of the last event that this tab has seen. */
type Seen = { last: string | undefined };

function followShown({ organizationId, onEvent, onStanding, signal }: Following, seen: Seen): void {
  const name = `postern events ${myId.value} ${organizationId}`;
  const channel = new BroadcastChannel(name);
  /** Whether the stream is open, in the tab that reads it. */
  let isLive: boolean | undefined;
  const tell = (message: Message) => {
    if (!signal.aborted) channel.postMessage(message);
  };
  const take = (event: EventJson) => {
    seen.last = event.position;
    onEvent(event);
  };
  const stand = (now: boolean) => {
    isLive = now;
    onStanding(now);
    tell({ isLive: now, last: seen.last });
  };
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if ("event" in data) return take(data.event);
    if ("asks" in data) {
      if (isLive !== undefined) tell({ isLive, last: seen.last });
      return;
    }
    // The next tab to read continues from there.
    seen.last ??= data.last;
    onStanding(data.isLive);
  });
  signal.addEventListener("abort", () => channel.close());
  tell({ asks: true });
  const lead = async () => {
    while (!signal.aborted) {
      const sent = token.value;
      try {
        // A stream that ends before its first event also continues from a position.
        seen.last ??= await newest({ organizationId, signal });
        const onNext = (event: EventJson) => {
          take(event);
          tell({ event });
        };
        await read({ organizationId, after: seen.last, signal }, onNext, () => stand(true));
      } catch (error) {
        if (signal.aborted) return;
        stand(false);
        // A tab that is too far behind starts over with new events.
        if (error instanceof Refusal && error.reason === "POSITION_LOST") seen.last = undefined;
        const isOver = error instanceof Refusal && error.status === 401;
        // A tab that cannot renew its token now tries again.
        await (isOver ? used().then(() => renew(sent)) : after(2000, signal)).catch(() => {});
      }
    }
  };
  navigator.locks.request(name, { signal }, lead).catch(() => {});
}

/** The position after which all events are new. */
async function newest({ organizationId, signal }: Pick<Following, "organizationId" | "signal">): Promise<string> {
  const { events = [] } = await call("EventService/ListEvents", { pageSize: 1 }, { organizationId, signal });
  return events[0]?.position ?? "0";
}

/** Reads a stream, an event on each line; it ends when the token does. */
async function read(
  { organizationId, after: position, signal }: { organizationId: string; after: string; signal: AbortSignal },
  onEvent: (event: EventJson) => void,
  onOpen: () => void,
): Promise<void> {
  const watching = { method: "EventService/WatchEvents", request: { after: position } } as const;
  const { body } = await send(watching, { organizationId, signal });
  if (!body) return;
  onOpen();
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter(Boolean)) onLine(JSON.parse(line), onEvent);
  }
}

type Line = {
  readonly event?: EventJson;
  readonly result?: { readonly event?: EventJson };
  readonly error?: { readonly code?: number };
};

function onLine({ event, result, error }: Line, onEvent: (event: EventJson) => void): void {
  if (error) throw new Refusal(error.code === 16 ? 401 : 500, { body: error });
  const said = event ?? result?.event;
  if (said) onEvent(said);
}
