import { createContextValues } from "@connectrpc/connect";
import {
  compressionNegotiate,
  createAsyncIterable,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { codeToString, errorToJson, headerUnaryEncoding } from "@connectrpc/connect/protocol-connect";
import { fittingStatusOf } from "../protocols/grpc_status.ts";
import { connectStatusOf, headersOf } from "../protocols/json_error.ts";
import type { Answer, Located } from "../request.ts";
import { compressions, type Outcome, outcomeKey } from "./handlers.ts";
import type { Spoken } from "./spoken.ts";

const accepts = ["grpc-accept-encoding", "connect-accept-encoding", "accept-encoding"];

/** A request that a Connect handler can always read: its message is empty, what answers it comes beside it. */
export function requestFor(
  { headers, signal, version }: Located,
  spoken: Spoken,
  outcome: Outcome,
): UniversalServerRequest {
  const header = new Headers({ "content-type": contentTypeOf(spoken) });
  for (const name of accepts) header.set(name, headers.get(name) ?? "identity");
  const contextValues = createContextValues().set(outcomeKey, outcome);
  const body = createAsyncIterable([emptyOf(spoken)]);
  return { httpVersion: version, method: "POST", url: "http://localhost/", header, body, signal, contextValues };
}

function contentTypeOf({ family, json }: Spoken): string {
  const format = json ? "json" : "proto";
  switch (family) {
    case "connect unary":
      return `application/${format}`;
    case "connect stream":
      return `application/connect+${format}`;
    case "grpc":
    case "grpc-web":
      return `application/${family}+${format}`;
  }
}

function emptyOf({ family, json }: Spoken): Uint8Array {
  const message = Buffer.from(json ? "{}" : "");
  return family === "connect unary" ? message : Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]);
}

type Given = { readonly spoken: Spoken; readonly outcome: Outcome; readonly streams: boolean };

/** What a Connect handler answered, with what our refusals add. */
export async function answerOf(
  response: UniversalServerResponse,
  { spoken, outcome, streams }: Given,
): Promise<Answer> {
  const headers = Object.fromEntries(response.header ?? []);
  const refusal = outcome.begun ? undefined : outcome.refusal;
  if (refusal && spoken.family === "grpc") {
    // Without a message the trailers come as the only headers.
    const status = fittingStatusOf(refusal);
    return { status: 200, headers: { "content-type": headers["content-type"] ?? "", ...status }, body: "" };
  }
  const parts = response.body ?? createAsyncIterable([]);
  const body = spoken.text ? inBase64(parts, streams) : parts;
  const type = spoken.text && { "content-type": textTypeOf(spoken) };
  if (refusal && spoken.family === "connect unary") return refused(response.status, headers, { refusal, body });
  const trailers = spoken.family === "grpc" ? () => trailersOf(response, outcome) : undefined;
  const whole = streams ? body : await joined(body);
  return { status: response.status, headers: { ...headers, ...type }, body: whole, trailers };
}

/** The answer of a stream that is open and has no message yet. */
export function openAnswer(pending: Promise<UniversalServerResponse>, { asked, spoken, outcome }: Open): Answer {
  let response: UniversalServerResponse = { status: 200 };
  const parts = (async function* () {
    response = await pending;
    yield* response.body ?? [];
  })();
  const trailers = spoken.family === "grpc" ? () => trailersOf(response, outcome) : undefined;
  return {
    status: 200,
    headers: openHeaders(asked, spoken),
    body: spoken.text ? inBase64(parts, true) : parts,
    trailers,
  };
}

type Open = { readonly asked: Located; readonly spoken: Spoken; readonly outcome: Outcome };

// What Connect will say once it has a message, found in the same way.
function openHeaders({ headers }: Located, spoken: Spoken): Record<string, string> {
  const { encodingHeader = "", acceptHeader = "" } = spoken.protocol ?? {};
  const accepted = headers.get(acceptHeader) ?? "identity";
  const encoding = compressionNegotiate([...compressions], null, accepted, acceptHeader).response?.name;
  const type = spoken.text ? textTypeOf(spoken) : contentTypeOf(spoken);
  return { "content-type": type, ...(encoding && { [encodingHeader.toLowerCase()]: encoding }) };
}

const textTypeOf = ({ json }: Spoken) => `application/grpc-web-text+${json ? "json" : "proto"}`;

type Refused = { readonly refusal: NonNullable<Outcome["refusal"]>; readonly body: AsyncIterable<Uint8Array> };

async function refused(status: number, headers: Answer["headers"], { refusal, body }: Refused): Promise<Answer> {
  const own = headersOf(refusal);
  const said = connectStatusOf(refusal);
  if (said.code === refusal.code) return { status, headers: { ...headers, ...own }, body: await joined(body) };
  const { [headerUnaryEncoding.toLowerCase()]: _, ...plain } = headers;
  const error = { ...errorToJson(refusal, undefined), code: codeToString(said.code) };
  return { status: said.status, headers: { ...plain, ...own }, body: JSON.stringify(error) };
}

function trailersOf({ trailer }: UniversalServerResponse, { refusal }: Outcome): Record<string, string> {
  return { ...Object.fromEntries(trailer ?? []), ...(refusal && fittingStatusOf(refusal)) };
}

async function joined(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const part of parts) chunks.push(part);
  return Buffer.concat(chunks);
}

// Padding in the middle is allowed, but not every client knows.
async function* inBase64(parts: AsyncIterable<Uint8Array>, streams: boolean): AsyncGenerator<Uint8Array> {
  for await (const part of streams ? parts : [await joined(parts)])
    yield Buffer.from(Buffer.from(part).toString("base64"));
}
