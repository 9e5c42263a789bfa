import { type DescMessage, type JsonValue, type Message, ScalarType } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { isObject } from "../../codec/json/text.ts";
import type { Located } from "../request.ts";

/** How the messages of a stream are told apart. */
export type Framing = {
  readonly contentType: string;
  readonly message: (json: JsonValue) => string;
  /** What ends a stream early, as the one error body. */
  readonly error: (body: string) => string;
  /** Said now and then, so that nobody in between takes silence for the end. */
  readonly beat?: string;
};

const lines: Framing = {
  contentType: "application/x-ndjson",
  message: (json) => `${JSON.stringify(json)}\n`,
  error: (body) => `{"error":${body}}\n`,
};

// https://html.spec.whatwg.org/multipage/server-sent-events.html
const events: Framing = {
  contentType: "text/event-stream",
  message: (json) => `${idLine(json)}data: ${JSON.stringify(json)}\n\n`,
  // Not "error": browsers raise events of that name themselves.
  error: (body) => `event: refused\ndata: ${body}\n\n`,
  beat: ":\n\n",
};

/** The framing that a client accepts: server-sent events when it says so, otherwise lines of JSON. */
export function framingFor({ headers }: Located): Framing {
  return /(^|[\s,])text\/event-stream\b/i.test(headers.get("accept") ?? "") ? events : lines;
}

function idLine(json: JsonValue): string {
  const position = positionIn(json);
  return position === undefined ? "" : `id: ${position}\n`;
}

/** Where a stream goes on after a message: its `position`, or that of what it holds. */
function positionIn(json: JsonValue): string | undefined {
  if (!isObject(json)) return undefined;
  const holders = [json, ...Object.values(json).filter(isObject)];
  return holders.map(({ position }) => position).find((one) => typeof one === "string");
}

/** Lets a stream go on after the last event that the client has seen: in the field `after`, where the request has one. */
export function resume(type: DescMessage, request: Message, { headers }: Located): void {
  const last = headers.get("last-event-id");
  const after = type.fields.find(({ name }) => name === "after");
  if (!last || after?.fieldKind !== "scalar" || after.scalar !== ScalarType.STRING) return;
  reflect(type, request).set(after, last);
}
