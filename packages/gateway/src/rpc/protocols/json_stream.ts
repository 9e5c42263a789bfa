import { type DescMessage, type JsonValue, type Message, ScalarType } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { isObject } from "../../codec/json/text.ts";
import type { Fields } from "../../header_fields.ts";
import { errorJson, jsonUnary } from "./json.ts";
import type { Negotiated, Protocol } from "./protocol.ts";

/** Messages as lines of JSON. */
const lines: Protocol = {
  ...jsonUnary,
  message: (message) => Buffer.from(`${message}\n`),
  end: (error) => ({ body: error && `${JSON.stringify({ error: errorJson(error) })}\n` }),
};

// https://html.spec.whatwg.org/multipage/server-sent-events.html
const events: Protocol = {
  ...jsonUnary,
  message: (message) => Buffer.from(`${idLine(String(message))}data: ${message}\n\n`),
  // Not "error", because browsers raise events of that name themselves.
  end: (error) => ({ body: error && `event: refused\ndata: ${JSON.stringify(errorJson(error))}\n\n` }),
  heartbeat: Buffer.from(":\n\n"),
};

const negotiatedLines: Negotiated = { protocol: lines, codec: "json", contentType: "application/x-ndjson" };
const negotiatedEvents: Negotiated = { protocol: events, codec: "json", contentType: "text/event-stream" };

/** Negotiates a JSON stream: server-sent events if the client accepts them, otherwise lines. */
export function negotiateJsonStream({ accept = "" }: Fields): Negotiated {
  return /(^|[\s,])text\/event-stream\b/i.test(accept) ? negotiatedEvents : negotiatedLines;
}

function idLine(message: string): string {
  const position = message.includes('"position"') ? positionIn(JSON.parse(message)) : undefined;
  return position === undefined ? "" : `id: ${position}\n`;
}

/** The position from which to resume a stream after a message: its own `position`, or that of a message inside it. */
function positionIn(json: JsonValue): string | undefined {
  if (!isObject(json)) return undefined;
  const holders = [json, ...Object.values(json).filter(isObject)];
  return holders.map(({ position }) => position).find((one) => typeof one === "string");
}

/** Resumes a stream after the last event that the client received, using the request's field `after`, if it has one. */
export function resume(type: DescMessage, request: Message, headers: Fields): void {
  const last = headers["last-event-id"];
  const after = type.fields.find(({ name }) => name === "after");
  if (!last || after?.fieldKind !== "scalar" || after.scalar !== ScalarType.STRING) return;
  reflect(type, request).set(after, last);
}
