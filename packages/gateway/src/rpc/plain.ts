import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { refuse } from "../../../../src/errors.ts";
import { messageBytes } from "../limits/message_limit.ts";
import { type FindCall, type PlainCall, plainCalls } from "../rest/calls.ts";
import { inTime } from "./deadline.ts";
import { announced } from "./lane/body.ts";
import { type Arrival, admitted, enter, fail, leave, run, type Visit, type Ways, waysOf } from "./lane/visit.ts";
import type { Call, Operation } from "./operations.ts";
import { connectTimeout } from "./protocols/connect.ts";
import { plain } from "./protocols/json.ts";
import type { Reply } from "./protocols/protocol.ts";
import { type Answer, type Located, wholeBody } from "./request.ts";
import { type Parts, problemAnswer, type Room } from "./rooms.ts";
import { stream } from "./stream.ts";

/** Plain JSON on REST paths and rpc paths: streams, what is refused, and what the lane left. */
export function plainRoom(parts: Parts): Room {
  const find = plainCalls(parts);
  const ways = waysOf(parts);
  return (asked, call) => {
    const found = callOf(find, asked);
    if (!found) return undefined;
    const { operation } = found;
    return operation.kind === "unary"
      ? answered({ ways, asked, call }, { ...found, operation })
      : streamed({ parts, asked, call }, { ...found, operation });
  };
}

function callOf(find: FindCall, { method, path, query }: Located): PlainCall | undefined {
  const found = find(method, path, query);
  switch (found?.kind) {
    case undefined:
      return undefined;
    case "malformed":
      throw refuse.because("MALFORMED_REQUEST");
    case "wrong method":
      throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: found.allow } });
    case "call":
      return found.call;
  }
}

type Unary = PlainCall<Extract<Operation, { kind: "unary" }>>;
type Streaming = PlainCall<Extract<Operation, { kind: "stream" }>>;
type Visited = { readonly ways: Ways; readonly asked: Located; readonly call: Call };

/** Takes the same way as a call in the lane. */
function answered({ ways, asked, call }: Visited, { operation, decode, encode }: Unary): Promise<Answer> {
  const contentType = asked.headers.get("content-type") ?? undefined;
  const arrival: Arrival = {
    ...{ operation, dialect: plain, headers: asked.headers.fields, bare: false, account: asked.account },
    format: { decode: (bytes) => decode(bytes, contentType), encode },
  };
  // The door has begun the call, and writes its id.
  const newCall = () => ({ requestId: "", values: call.values });
  return new Promise((resolve) => {
    const visit = enter({ ...ways, newCall }, arrival, (reply) => resolve(answerOf(reply)));
    asked.signal.addEventListener("abort", () => leave(visit));
    read(asked, visit).catch((error) => fail(visit, error));
  });
}

async function read(asked: Located, visit: Visit): Promise<void> {
  await admitted(visit);
  if (announced(visit))
    await run(visit, Buffer.from(await asked.body(messageBytes(visit.operation, visit.ways.limits))));
}

const answerOf = ({ status, headers, body = "" }: Reply): Answer => ({ status, headers, body });

const longestTimer = 2 ** 31 - 1;

type Streamed = { readonly parts: Parts; readonly asked: Located; readonly call: Call };

async function streamed({ parts, asked, call }: Streamed, { operation, decode }: Streaming): Promise<Answer> {
  try {
    const request = await understood({ parts, asked, call }, { operation, decode });
    return await stream({ refused: parts.refused, asked, call, operation, request });
  } catch (error) {
    return problemAnswer(error instanceof ConnectError ? error : parts.refused(error, call, operation.path));
  }
}

type Understood = Omit<Streaming, "encode">;

async function understood({ parts, asked, call }: Streamed, { operation, decode }: Understood): Promise<Message> {
  try {
    const timeoutMs = connectTimeout(asked.headers.fields);
    if (timeoutMs !== undefined) asked.expire(Math.min(timeoutMs, longestTimer));
    const request = admittedRequest({ parts, asked, call }, { operation, decode });
    // The gate may wait for the database for longer than the caller waits for us.
    return await inTime(request, asked.signal, () => refuse.because("DEADLINE_EXCEEDED"));
  } catch (error) {
    throw parts.refused(error, call, operation.path);
  }
}

async function admittedRequest({ parts, asked, call }: Streamed, { operation, decode }: Understood): Promise<Message> {
  asked.account.identify(await operation.gate(call));
  const body = await wholeBody(asked, operation.encodings, messageBytes(operation, parts.limits));
  const request = decode(body, asked.headers.get("content-type") ?? undefined);
  // A stream may be answered for hours, and its body is of no use any more.
  asked.account.release();
  return request;
}
