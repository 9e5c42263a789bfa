import type { Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { ConnectError, type ConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { refuse } from "../../errors.ts";
import { inTime } from "../deadline.ts";
import type { Answer, Located } from "../exchange.ts";
import type { Rules } from "../json.ts";
import { HeaderFields } from "../lane/protocol.ts";
import { begun, type Call, type Operation } from "../operations.ts";
import { type Parts, problemAnswer, type Room } from "../rooms.ts";
import { decodeRequest } from "./decode.ts";
import { answerOf, openAnswer, requestFor, standardRequest } from "./exchange.ts";
import { compileHandlers, type Handlers, type Outcome } from "./handlers.ts";
import { type Spoken, spokenBy } from "./spoken.ts";

/** What the adapter is given by the server. */
export type AdapterParts = Pick<Parts, "operations" | "rules" | "refused"> & {
  readonly limits: { readonly messageMaxBytes: number; readonly deadlineMaxMs: number };
  /** Services of others to be served as well: health, reflection. */
  readonly standard?: (router: ConnectRouter) => void;
};

/** gRPC, gRPC-Web and Connect, unary and streaming, by connect-es; what is wrong with a request is refused in our words. */
export function adapterRoom(parts: AdapterParts): Room {
  const { operations, limits, standard = () => {} } = parts;
  const handlers = compileHandlers({ operations, standard, ...limits });
  const rules = new Map([...operations.values()].map(({ method }) => [method, parts.rules(method.input)]));
  return (asked, call) => {
    const spoken = spokenBy(asked);
    if (!spoken) return undefined;
    if (spoken.family === "grpc" && asked.version !== "2") return tooOld(parts, asked, call);
    const other = handlers.standard.get(asked.path);
    if (other && !spoken.text) return passedOn(other, asked, spoken);
    const served = handlers.ours.get(asked.path);
    if (!served && isPlain(asked, spoken)) return undefined;
    const known = served && rules.get(served.operation.method);
    const talk = { parts, handlers, asked, call: spoken.inQuery ? versioned(call, asked) : call, spoken };
    return converse({ ...talk, operation: served?.operation, rules: known ?? (() => []) });
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
  readonly operation: Operation | undefined;
  readonly rules: Rules;
};

async function converse(talk: Conversation): Promise<Answer> {
  const { asked, spoken } = talk;
  const outcome: Outcome = { answers: () => noted(outcome, answers(talk)) };
  const streams = talk.operation?.kind === "stream";
  const { promise: begins, resolve } = Promise.withResolvers<void>();
  if (streams) talk.call.values.set(begun, resolve);
  const pending = handlerFor(talk)(requestFor(asked, spoken, outcome));
  // A stream without any message must not hold back its headers.
  const response = await Promise.race([pending, begins.then(nextTurn)]);
  return response ? answerOf(response, { spoken, outcome, streams }) : openAnswer(pending, { asked, spoken, outcome });
}

const nextTurn = () => new Promise<undefined>((resolve) => setImmediate(resolve, undefined));

/** The handler that writes answers in the protocol spoken, which decides by the kind of an rpc how refusals look. */
function handlerFor({ handlers, asked, spoken, operation }: Conversation): UniversalHandler {
  const served = handlers.ours.get(asked.path)?.handler;
  switch (spoken.family) {
    case "connect unary":
      return served && operation?.kind === "unary" ? served : handlers.unary;
    case "connect stream":
      return served && operation?.kind === "stream" ? served : handlers.stream;
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
  const { asked, call, parts } = talk;
  const { operation, request } = await understood(talk);
  if (operation.kind === "unary") {
    const late = () => parts.refused(refuse.because("DEADLINE_EXCEEDED"), call, operation.path);
    yield await inTime(operation.unary(request, call), asked.signal, late);
    return;
  }
  const signal = AbortSignal.any([asked.signal, asked.stopping]);
  try {
    yield* operation.stream(request, { ...call, signal });
  } catch (error) {
    throw asked.stopping.aborted ? refuse.because("UNAVAILABLE") : error;
  }
  if (asked.stopping.aborted) throw refuse.because("UNAVAILABLE");
}

async function understood(talk: Conversation): Promise<{ operation: Operation; request: Message }> {
  const { parts, asked, call, spoken, operation, rules } = talk;
  try {
    if (!operation) throw unknownPath(spoken);
    if (!isAllowed(asked, operation))
      throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: allowed(operation) } });
    const { deadlineMaxMs } = parts.limits;
    return { operation, request: await decodeRequest({ asked, spoken, operation, rules, deadlineMaxMs }) };
  } catch (error) {
    throw parts.refused(error, call, asked.path);
  }
}

// Clients of gRPC take UNIMPLEMENTED for an rpc that is not there.
const unknownPath = ({ family }: Spoken): ConnectError =>
  refuse.because(family === "grpc" || family === "grpc-web" ? "UNIMPLEMENTED" : "UNKNOWN_PATH");

const isRead = ({ kind, method }: Operation) => kind === "unary" && method.idempotency === Idempotency.NO_SIDE_EFFECTS;
const isAllowed = ({ method }: Located, operation: Operation) =>
  method === "POST" || (method === "GET" && isRead(operation));
const allowed = (operation: Operation) => (isRead(operation) ? "GET, POST" : "POST");

async function passedOn(handler: UniversalHandler, asked: Located, spoken: Spoken): Promise<Answer> {
  const response = await handler(standardRequest(asked));
  return answerOf(response, { spoken, streams: true });
}
