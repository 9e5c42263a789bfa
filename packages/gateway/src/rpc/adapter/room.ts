import type { Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { refuse } from "../../../../../src/errors.ts";
import { type Decoder, decoderOf } from "../../codec/decoder.ts";
import { noRoom } from "../../http/body_budget.ts";
import { inTime, untilLate } from "../deadline.ts";
import { begun, type Call, type Rpc } from "../operations.ts";
import { HeaderFields } from "../protocols/protocol.ts";
import type { Answer, Located } from "../request.ts";
import { type Parts, problemAnswer, type Room } from "../rooms.ts";
import { decodeRequest, decodeRequests, type ReadLimits, type Unread } from "./decode.ts";
import { answerOf, openAnswer, requestFor } from "./exchange.ts";
import { compileHandlers, type Handlers, type Outcome } from "./handlers.ts";
import { type Spoken, spokenBy } from "./spoken.ts";

/** What the adapter is given by the server. */
export type AdapterParts = Pick<Parts, "operations" | "rules" | "refused"> & {
  readonly limits: ReadLimits;
  /** Rpcs of services that are not ours, to be served as well: health, reflection. */
  readonly standard?: readonly Rpc[];
};

/** gRPC, gRPC-Web and Connect, unary and streaming: connect-es writes the answers; we read the requests, and refuse. */
export function adapterRoom(parts: AdapterParts): Room {
  const { operations, limits, standard = [] } = parts;
  const rpcs = [...operations.values(), ...standard];
  const handlers = compileHandlers(rpcs, limits.messageMaxBytes);
  const decoders = new Map(rpcs.map(({ path, method: { input } }) => [path, decoderOf(input, parts.rules(input))]));
  return (asked, call) => {
    const spoken = spokenBy(asked);
    if (!spoken) return undefined;
    if (spoken.family === "grpc" && asked.version !== "2") return tooOld(parts, asked, call);
    const rpc = handlers.served.get(asked.path)?.rpc;
    if (!rpc && isPlain(asked, spoken)) return undefined;
    const talk = { parts, handlers, asked, call: spoken.inQuery ? versioned(call, asked) : call, spoken, rpc };
    return converse({ ...talk, decoder: decoders.get(asked.path) });
  };
}

// https://connectrpc.com/docs/protocol: in a query `connect=v1` stands for the header, by which others know the protocol.
const versioned = (call: Call, { headers }: Located): Call => ({
  ...call,
  requestHeader: new HeaderFields({ ...headers.fields, "connect-protocol-version": "1" }),
});

// A REST path may be sent what only its own room can refuse.
const isPlain = ({ headers }: Located, { family, inQuery }: Spoken) =>
  inQuery || (family === "connect unary" && headers.get("connect-protocol-version") === null);

async function tooOld(parts: AdapterParts, asked: Located, call: Call): Promise<Answer> {
  return problemAnswer(parts.refused(refuse.because("HTTP_VERSION_TOO_OLD"), call, asked.path));
}

type Conversation = {
  readonly parts: AdapterParts;
  readonly handlers: Handlers;
  readonly asked: Located;
  readonly call: Call;
  readonly spoken: Spoken;
  readonly rpc: Rpc | undefined;
  readonly decoder: Decoder | undefined;
};

async function converse(talk: Conversation): Promise<Answer> {
  const { asked, spoken, rpc } = talk;
  const outcome: Outcome = { answers: () => noted(outcome, answers(talk)) };
  const streams = rpc !== undefined && rpc.kind !== "unary";
  const { promise: begins, resolve } = Promise.withResolvers<void>();
  if (streams) talk.call.values.set(begun, resolve);
  const pending = handlerFor(talk)(requestFor(asked, spoken, outcome));
  // A stream without any message must not hold back its headers.
  const response = await Promise.race([pending, begins.then(nextTurn)]);
  return response ? answerOf(response, { spoken, outcome, streams }) : openAnswer(pending, { asked, spoken, outcome });
}

const nextTurn = () => new Promise<undefined>((resolve) => setImmediate(resolve, undefined));

/** The handler that writes answers in the protocol spoken, which decides by the kind of an rpc how refusals look. */
function handlerFor({ handlers, asked, spoken, rpc }: Conversation): UniversalHandler {
  const served = handlers.served.get(asked.path)?.handler;
  switch (spoken.family) {
    case "connect unary":
      return served && rpc?.kind === "unary" ? served : handlers.unary;
    case "connect stream":
      return served && rpc?.kind !== "unary" ? served : handlers.stream;
    case "grpc":
    case "grpc-web":
      return served ?? handlers.unary;
  }
}

async function* noted(outcome: Outcome, messages: AsyncGenerator<Message>): AsyncGenerator<Message> {
  try {
    for await (const message of messages) {
      outcome.begun = true;
      yield message;
    }
  } catch (error) {
    if (error instanceof ConnectError) outcome.refusal = error;
    throw error;
  }
}

async function* answers(talk: Conversation): AsyncGenerator<Message> {
  const { asked, call, parts, rpc } = talk;
  const begin = await understood(talk);
  const late = () => parts.refused(refuse.because("DEADLINE_EXCEEDED"), call, asked.path);
  if (rpc?.kind === "unary") return yield* untilLate(begin(), asked.signal, late);
  try {
    yield* untilLate(begin(), asked.signal, late);
  } catch (error) {
    throw asked.stopping.aborted ? refuse.because("UNAVAILABLE") : error;
  }
  if (asked.stopping.aborted) throw refuse.because("UNAVAILABLE");
}

/** Begins to answer. */
type Begin = () => AsyncIterable<Message>;

async function understood({ parts, asked, call, spoken, rpc, decoder }: Conversation): Promise<Begin> {
  try {
    if (!rpc || !decoder) throw unknownPath(spoken);
    if (!isAllowed(asked, rpc)) throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: allowed(rpc) } });
    const begin = prepared({ asked, spoken, rpc, decoder, limits: parts.limits }, call);
    // The gate may wait for the database for longer than the caller waits for us.
    return await inTime(begin, asked.signal, () => refuse.because("DEADLINE_EXCEEDED"));
  } catch (error) {
    throw parts.refused(error, call, asked.path);
  }
}

async function prepared(unread: Unread, call: Call): Promise<Begin> {
  const { rpc, asked } = unread;
  const gate = async () => {
    asked.account.identify(await rpc.gate(call));
    if (rpc.kind !== "unary" && !asked.account.openStream()) throw noRoom();
  };
  if (rpc.kind === "unary") {
    const request = await decodeRequest(unread, gate);
    return () => once(rpc.unary(request, call));
  }
  const signal = AbortSignal.any([asked.signal, asked.stopping]);
  if (rpc.kind === "stream") {
    const request = await decodeRequest(unread, gate);
    return () => rpc.stream(request, { ...call, signal });
  }
  await gate();
  const requests = decodeRequests(unread, signal);
  return () => rpc.dialogue(requests, { ...call, signal });
}

async function* once(answer: Promise<Message>): AsyncGenerator<Message> {
  yield await answer;
}

// Clients of gRPC and of streaming Connect take UNIMPLEMENTED for an rpc that is not there; HTTP has a status for it.
const unknownPath = ({ family }: Spoken): ConnectError =>
  refuse.because(family === "connect unary" ? "UNKNOWN_PATH" : "UNIMPLEMENTED");

const isRead = ({ kind, method }: Rpc) => kind === "unary" && method.idempotency === Idempotency.NO_SIDE_EFFECTS;
const isAllowed = ({ method }: Located, rpc: Rpc) => method === "POST" || (method === "GET" && isRead(rpc));
const allowed = (rpc: Rpc) => (isRead(rpc) ? "GET, POST" : "POST");
