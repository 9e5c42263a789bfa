import { request as requestHttp1 } from "node:http";
import { connect } from "node:http2";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import {
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ErrorInfoSchema, file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { machine, type Postern, sharedPostern } from "../harness.ts";
import { frame, readFrame } from "../wire/frame.ts";
import { readTrailers } from "../wire/http.ts";
import { codeAndReason } from "../wire/refusal.ts";
import { fresh, made, type Stage, stageOf, within } from "./stage.ts";

const { watchEvents: method } = EventService.method;
const registry = createRegistry(file_google_rpc_error_details);
const rpcPath = `/${method.parent.typeName}/${method.name}`;

type Headers = Readonly<Record<string, string>>;
type Format = "json" | "binary";
/** One message, or what ended the stream: `CODE REASON`. */
type Received = { readonly message?: JsonValue; readonly end?: string };

/** A way to watch: how it asks, and how it takes the first thing out of the bytes; undefined while there is none whole. */
type Door = {
  readonly name: string;
  readonly version: "1.1" | "2";
  readonly ask: (request: JsonObject) => { verb: string; path: string; headers: Headers; body: Buffer };
  readonly take: (bytes: Buffer, fields: Headers) => { received: Received; rest: Buffer } | undefined;
};

const written = (format: Format, request: JsonObject) =>
  format === "json"
    ? Buffer.from(JSON.stringify(request))
    : Buffer.from(toBinary(method.input, fromJson(method.input, request)));

const post = (headers: Headers, body: Buffer) => ({ verb: "POST", path: rpcPath, headers, body });

function readMessage(format: Format, bytes: Buffer, type: DescMessage = method.output): JsonValue {
  const message = format === "json" ? fromJson(type, JSON.parse(bytes.toString())) : fromBinary(type, bytes);
  return toJson(type, message, { alwaysEmitImplicit: true, registry });
}

/** The end of a stream in its words: by trailers of gRPC, by the last frame of gRPC-Web or Connect. */
function enveloped(format: Format, endOf: (flags: number, bytes: Buffer) => string | undefined) {
  return (bytes: Buffer, fields: Headers) => {
    const read = readFrame(bytes);
    if (!read)
      return fields["grpc-status-details-bin"] ? { received: { end: codeAndReason(fields) }, rest: bytes } : undefined;
    const { flags, message } = read.frame;
    const end = endOf(flags, message);
    return { received: end === undefined ? { message: readMessage(format, message) } : { end }, rest: read.rest };
  };
}

const inTrailer = (flags: number, bytes: Buffer) => (flags & 0x80 ? codeAndReason(readTrailers(bytes)) : undefined);

function inEnd(flags: number, bytes: Buffer): string | undefined {
  if (!(flags & 2)) return undefined;
  const { error } = JSON.parse(bytes.toString());
  const info = error.details.find(({ type }: { type: string }) => type.endsWith("ErrorInfo"));
  const { reason } = fromBinary(ErrorInfoSchema, Buffer.from(info.value, "base64"));
  return `${error.code.replace(/(^|_)([a-z])/g, (_: string, __: string, letter: string) => letter.toUpperCase())} ${reason}`;
}

const inBase64 =
  (door: Door["take"]): Door["take"] =>
  (bytes, fields) => {
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 4)).toString();
    const parts = (whole.match(/[^=]+=*/g) ?? []).map((part) => Buffer.from(part, "base64"));
    const taken = door(Buffer.concat(parts), fields);
    return taken && { received: taken.received, rest: Buffer.from(taken.rest.toString("base64")) };
  };

function problemIn(text: string): Received {
  const { code, details } = JSON.parse(text);
  return { end: `${Code[code]} ${details[0].reason}` };
}

/** Takes what is between here and a separator. */
const separated =
  (separator: string, readPiece: (piece: string) => Received): Door["take"] =>
  (bytes, fields) => {
    const text = bytes.toString();
    if (fields["content-type"] === "application/json") {
      try {
        return { received: problemIn(text), rest: Buffer.of() };
      } catch {
        return undefined;
      }
    }
    const end = text.indexOf(separator);
    if (end < 0) return undefined;
    return { received: readPiece(text.slice(0, end)), rest: Buffer.from(text.slice(end + separator.length)) };
  };

const messageIn = (text: string): Received => ({ message: readMessage("json", Buffer.from(text)) });

function lineOf(piece: string): Received {
  const { error } = JSON.parse(piece);
  return error ? problemIn(JSON.stringify(error)) : messageIn(piece);
}

function dataOf(piece: string): Received {
  const data = /^data: (.*)$/m.exec(piece)?.[1] ?? "";
  return /^event: refused$/m.test(piece) ? problemIn(data) : messageIn(data);
}

function restOver(version: Door["version"], accept: string, take: Door["take"]): Door {
  const ask = (request: JsonObject) => {
    const query = new URLSearchParams(
      Object.entries(request).map(([name, value]): [string, string] => [name, `${value}`]),
    );
    return { verb: "GET", path: `/v1/events:watch?${query}`, headers: { accept }, body: Buffer.of() };
  };
  return { name: `REST over HTTP/${version} as ${accept}`, version, ask, take };
}

const doors: readonly Door[] = [
  ...(["1.1", "2"] as const).flatMap((version): Door[] => [
    restOver(version, "application/x-ndjson", separated("\n", lineOf)),
    restOver(version, "text/event-stream", separated("\n\n", dataOf)),
    {
      ...{ name: `plain JSON over HTTP/${version}`, version, take: separated("\n", lineOf) },
      ask: (request) => post({ "content-type": "application/json" }, written("json", request)),
    },
    ...(["json", "binary"] as const).flatMap((format): Door[] => {
      const type = format === "json" ? "json" : "proto";
      return [
        {
          ...{ name: `Connect ${format} over HTTP/${version}`, version, take: enveloped(format, inEnd) },
          ask: (request) => post({ "content-type": `application/connect+${type}` }, frame(written(format, request))),
        },
        {
          ...{ name: `gRPC-Web ${format} over HTTP/${version}`, version, take: enveloped(format, inTrailer) },
          ask: (request) => post({ "content-type": `application/grpc-web+${type}` }, frame(written(format, request))),
        },
        {
          ...{ name: `gRPC-Web text ${format} over HTTP/${version}`, version },
          take: inBase64(enveloped(format, inTrailer)),
          ask: (request) =>
            post(
              { "content-type": `application/grpc-web-text+${type}` },
              Buffer.from(frame(written(format, request)).toString("base64")),
            ),
        },
      ];
    }),
  ]),
  ...(["json", "binary"] as const).map(
    (format): Door => ({
      ...{ name: `gRPC ${format}`, version: "2", take: enveloped(format, () => undefined) },
      ask: (request) =>
        post(
          { "content-type": `application/grpc${format === "json" ? "+json" : ""}`, te: "trailers" },
          frame(written(format, request)),
        ),
    }),
  ),
];

type Opened = { readonly stream: Readable; readonly fields: () => Headers; readonly close: () => void };

function open(url: string, { version, ask }: Door, request: JsonObject, headers: Headers): Promise<Opened> {
  const { verb, path, headers: own, body } = ask(request);
  const all = { ...own, ...headers };
  if (version === "1.1")
    return new Promise((resolve, reject) => {
      const asking = requestHttp1(url + path, { method: verb, headers: all }, (answer) =>
        resolve({ stream: answer, fields: () => answer.headers as Headers, close: () => asking.destroy() }),
      );
      asking.on("error", reject).end(body);
    });
  const session = connect(url);
  const stream = session.request({ ":method": verb, ":path": path, ...all }, { endStream: body.length === 0 });
  if (body.length > 0) stream.end(body);
  let fields: Headers = {};
  return new Promise((resolve) => {
    stream.on("trailers", (more) => {
      fields = { ...fields, ...(more as Headers) };
    });
    stream.on("response", (first) => {
      fields = first as Headers;
      resolve({ stream, fields: () => fields, close: () => session.destroy() });
    });
  });
}

/** Reads the first messages of a watch, then closes it. */
async function hear(
  url: string,
  door: Door,
  { request, headers, count, onMessage }: WatchRequest,
): Promise<readonly Received[]> {
  const { stream, fields, close } = await open(url, door, request, headers);
  const all: Received[] = [];
  let bytes: Buffer = Buffer.of();
  const takeAll = () => {
    for (let taken = door.take(bytes, fields()); taken && all.length < count; taken = door.take(bytes, fields())) {
      all.push(taken.received);
      onMessage?.(taken.received);
      bytes = taken.rest;
      if (taken.received.end) break;
    }
    return all.length >= count || all.at(-1)?.end !== undefined;
  };
  try {
    for await (const part of stream) {
      bytes = Buffer.concat([bytes, part]);
      if (takeAll()) return all;
    }
    takeAll();
    return all;
  } finally {
    close();
  }
}

type WatchRequest = {
  readonly request: JsonObject;
  readonly headers: Headers;
  readonly count: number;
  /** Hears each thing as it comes. */
  readonly onMessage?: (received: Received) => unknown;
};

let postern: Postern;
let stage: Stage;
let where: Headers;
let before: string;
let expected: readonly JsonValue[];

beforeAll(async () => {
  postern = await sharedPostern();
  stage = await stageOf(postern);
  where = within(stage.fixture.organizationId);
  const listed = await stage.admin.get("/v1/events?pageSize=1", where);
  before = listed.body.events[0].position;
  for (const name of [fresh("Zürich 東京"), fresh("second"), fresh("third")])
    await made(stage.admin, "/v1/projects", { name }, where);
  const { body } = await stage.admin.get("/v1/events?pageSize=3", where);
  expected = (body.events as JsonObject[]).toReversed().map((event) => ({ event }));
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const ofAdmin = () => ({ ...where, authorization: `Bearer ${stage.admin.token}` });

test.each(doors)("$name: a watcher resumes after a position and hears what came since", async (door) => {
  const received = await hear(postern.url, door, { request: { after: before }, headers: ofAdmin(), count: 3 });
  expect(received.map(({ message }) => message)).toEqual(expected);
  const { position } = (expected[0] as { event: { position: string } }).event;
  const later = await hear(postern.url, door, { request: { after: position }, headers: ofAdmin(), count: 2 });
  expect(later.map(({ message }) => message)).toEqual(expected.slice(1));
});

const refusals: readonly [what: string, request: JsonObject, headers: () => Headers, end: string][] = [
  ["who shows no token", {}, () => where, "Unauthenticated UNAUTHENTICATED"],
  [
    "a wrong token",
    {},
    () => ({ ...where, authorization: `Bearer ${"x".repeat(40)}` }),
    "Unauthenticated TOKEN_INVALID",
  ],
  [
    "who may not read events",
    {},
    () => ({ ...where, authorization: `Bearer ${stage.stranger.token}` }),
    "PermissionDenied PERMISSION_DENIED",
  ],
  ["an unknown organization", {}, () => ({ ...ofAdmin(), ...within("nowhere") }), "PermissionDenied PERMISSION_DENIED"],
  ["a position that is none", { after: "yesterday" }, ofAdmin, "InvalidArgument POSITION_INVALID"],
  ["a type of event that is none", { types: ["nothing.happened"] }, ofAdmin, "InvalidArgument VALIDATION_FAILED"],
  ["more than an id may have", { objectId: "x".repeat(201) }, ofAdmin, "InvalidArgument VALIDATION_FAILED"],
  [
    "who waits for a time that is none",
    {},
    () => ({ ...ofAdmin(), "grpc-timeout": "soon", "connect-timeout-ms": "soon" }),
    "InvalidArgument MALFORMED_REQUEST",
  ],
];

test.each(refusals)(
  "%s is refused before the first event, alike through every door",
  async (_, request, headers, end) => {
    for (const door of doors) {
      const received = await hear(postern.url, door, { request, headers: headers(), count: 1 });
      expect(received, door.name).toEqual([{ end }]);
    }
  },
);

test("a watcher whose token is revoked hears no more, through every door", async () => {
  const { userId, tokenId, client } = await machine(postern, stage.fixture);
  await made(stage.admin, "/v1/members", { userId, roles: ["ORG_VIEWER"] }, where);
  const headers = { ...where, authorization: `Bearer ${client.token}` };
  const heard = new Set<number>();
  const hearAt = (door: Door, index: number) => {
    const onMessage = () => heard.add(index);
    return hear(postern.url, door, { request: {}, headers, count: Number.POSITIVE_INFINITY, onMessage });
  };
  const all = doors.map(hearAt);
  let isOver = false;
  const over = Promise.all(all).finally(() => {
    isOver = true;
  });
  // A watch begins at the end of the log, whose position no other call returns; and before a message the token is looked up
  // again if that was a second ago.
  const makeUntil = async (condition: () => boolean) => {
    while (!condition())
      await Promise.all([made(stage.admin, "/v1/projects", { name: fresh("more") }, where), pause(200)]);
  };
  await makeUntil(() => isOver || heard.size === doors.length);
  await stage.admin.delete(`/v1/users/${userId}/tokens/${tokenId}`);
  await makeUntil(() => isOver);
  for (const [index, received] of (await over).entries())
    expect(received.at(-1), doors[index]?.name).toEqual({ end: "Unauthenticated TOKEN_INVALID" });
});

test("a watcher whose time is over is told so, through every door", async () => {
  const headers = { ...ofAdmin(), "grpc-timeout": "700m", "connect-timeout-ms": "700" };
  const ends = doors.map((door) => hear(postern.url, door, { request: { after: before }, headers, count: 100 }));
  for (const [index, received] of (await Promise.all(ends)).entries())
    expect(received.at(-1), doors[index]?.name).toEqual({ end: "DeadlineExceeded DEADLINE_EXCEEDED" });
});
