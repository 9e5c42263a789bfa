import {
  create,
  type DescMethod,
  type DescService,
  getOption,
  hasOption,
  isMessage,
  type Message,
} from "@bufbuild/protobuf";
import { type ContextValues, createContextKey, type ServiceImpl } from "@connectrpc/connect";
import { http } from "../../../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../../../gen/google/api/http_pb.ts";
import { access } from "../../../../gen/postern/v1/options_pb.ts";
import { type Intake, intakeOf, unknownCallerIntake } from "../limits/intake.ts";

/** What a door tells of the call it serves. */
export type Call = {
  readonly values: ContextValues;
  readonly signal: AbortSignal;
  readonly requestHeader: Pick<Headers, "get">;
};

/**
 * Finds out who calls, from the headers alone, before anything of a body is read; refuses who may not call. Answers a name for
 * the limits of the caller, undefined for nobody.
 */
export type Gate = (call: Call) => string | undefined | Promise<string | undefined>;

/** A handler that answers once, with the fields of the answer or a part of them. */
export type UnaryHandler = (request: Message, call: Call) => Promise<object>;

/** A handler that answers again and again. */
export type StreamHandler = (request: Message, call: Call) => AsyncIterable<object>;

/** Wraps a bare handler in everything that comes before and after it. */
export type Guard = {
  /** The gate of an rpc; without one everybody passes. */
  readonly gate?: (method: DescMethod) => Gate;
  readonly unary: (method: DescMethod, handler: UnaryHandler) => UnaryHandler;
  readonly stream: (method: DescMethod, handler: StreamHandler) => StreamHandler;
};

/** An rpc, guarded and ready to be called by any door. */
export type Operation = {
  readonly method: DescMethod;
  /** Where gRPC and Connect find it: `/postern.v1.UserService/GetUser`. */
  readonly path: string;
  readonly gate: Gate;
  /** Its REST paths, the first one before the additional ones. */
  readonly rules: readonly HttpRule[];
  /** The most bytes of a message of it, by the contract; the setting may allow less. */
  readonly messageBytes: number;
  /** How a message of it may be compressed. */
  readonly encodings: readonly string[];
} & (
  | { readonly kind: "unary"; readonly unary: (request: Message, call: Call) => Promise<Message> }
  | { readonly kind: "stream"; readonly stream: (request: Message, call: Call) => AsyncIterable<Message> }
);

/** An rpc that streams its requests, which only gRPC, gRPC-Web and Connect can carry. */
export type Dialogue = Pick<Operation, "method" | "path" | "gate" | "messageBytes" | "encodings"> & {
  readonly kind: "dialogue";
  readonly dialogue: (requests: AsyncIterable<Message>, call: Call) => AsyncIterable<Message>;
};

/** What gRPC, gRPC-Web and Connect can carry. */
export type Rpc = Operation | Dialogue;

/** Every operation by its rpc path. */
export type Operations = ReadonlyMap<string, Operation>;

// Written as a method, so that a handler of a narrower request fits without a cast.
type AnyHandler = { call(request: Message | AsyncIterable<Message>, call: Call): object }["call"];

/** A service with what implements it. */
export type Implementation = { readonly service: DescService; readonly handlers: Readonly<Record<string, AnyHandler>> };

/** Pairs a service with its implementation; the compiler names the rpc without a handler. */
export function implementation<S extends DescService>(
  service: S,
  handlers: ServiceImpl<S> & Implementation["handlers"],
): Implementation {
  return { service, handlers };
}

/**
 * Called when the guards of a stream are passed and its handler begins: at once, or when the promise `begins` of its answers
 * is kept, so that a handler can look first whether it refuses.
 */
export const begun = createContextKey<() => void>(() => {}, { description: "the handler begins" });

/** Builds the table of operations, or throws a sentence that names the rpc that lacks something. */
export function operationTable(implementations: readonly Implementation[], guard: Guard): Operations {
  const operations = implementations.flatMap(({ service, handlers }) =>
    service.methods.map((method) => operation(method, handlers[method.localName], guard)),
  );
  return new Map(operations.map((one) => [one.path, one]));
}

function operation(method: DescMethod, handler: AnyHandler | undefined, guard: Guard): Operation {
  const name = `${method.parent.typeName}.${method.name}`;
  if (!hasOption(method, access) || getOption(method, access).who.case === undefined)
    throw new Error(`${name} has no access option: say in its proto who may call it`);
  const rules = hasOption(method, http) ? rulesOf(getOption(method, http)) : [];
  if (rules.length === 0) throw new Error(`${name} has no REST path: give it a google.api.http option`);
  if (!handler) throw new Error(`${name} has no handler`);
  const made = rpc(method, handler, { rules, guard, intake: intakeOf(method) });
  if (made.kind === "dialogue") throw new Error(`${name} streams its requests, which no door here can carry`);
  return made;
}

/**
 * Makes the rpcs of services that are not ours: no access option is asked for, and no REST path leads to them. Nobody has to be
 * signed in for them, so their messages are small.
 */
export function standardRpcs(
  implementations: readonly Implementation[],
  guard: Guard,
  intake = unknownCallerIntake,
): readonly Rpc[] {
  return implementations.flatMap(({ service, handlers }) =>
    service.methods.map((method) => {
      const handler = handlers[method.localName];
      if (!handler) throw new Error(`${service.typeName}.${method.name} has no handler`);
      return rpc(method, handler, { rules: [], guard, intake });
    }),
  );
}

type About = { readonly rules: readonly HttpRule[]; readonly guard: Guard; readonly intake: Intake };

function rpc(method: DescMethod, handler: AnyHandler, { rules, guard, intake }: About): Rpc {
  const gate = guard.gate?.(method) ?? everybody;
  const about = { method, path: `/${method.parent.typeName}/${method.name}`, gate, rules, ...intake };
  switch (method.methodKind) {
    case "unary":
      return { ...about, kind: "unary", unary: unary(method, handler, guard) };
    case "server_streaming":
      return { ...about, kind: "stream", stream: stream(method, handler, guard) };
    case "client_streaming":
    case "bidi_streaming":
      return { ...about, kind: "dialogue", dialogue: dialogue(method, handler, guard) };
  }
}

const everybody: Gate = () => undefined;

const rulesOf = (rule: HttpRule): HttpRule[] => [rule, ...rule.additionalBindings.flatMap(rulesOf)];

function unary(method: DescMethod, handler: AnyHandler, guard: Guard) {
  const guarded = guard.unary(method, async (request, call) => handler(request, call));
  return async (request: Message, call: Call) => whole(method, await guarded(request, call));
}

function stream(method: DescMethod, handler: AnyHandler, guard: Guard) {
  const guarded = guard.stream(method, (request, call) => {
    const answers = handler(request, call);
    if (!isAsyncIterable(answers)) throw new Error(`${method.name} streams, but its handler answers once`);
    const begin = call.values.get(begun);
    if ("begins" in answers && answers.begins instanceof Promise) answers.begins.then(begin, () => {});
    else begin();
    return answers;
  });
  return async function* (request: Message, call: Call) {
    for await (const answer of guarded(request, call)) yield whole(method, answer);
  };
}

function dialogue(method: DescMethod, handler: AnyHandler, guard: Guard): Dialogue["dialogue"] {
  // Guards are told when it begins and how it ends, and see nothing of its requests.
  const nothing = create(method.input);
  return (requests, call) => {
    const answers = (_: unknown, inner: Call) => manyOf(handler(requests, inner));
    return stream(method, answers, guard)(nothing, call);
  };
}

const manyOf = (answers: object): object => (isAsyncIterable(answers) ? answers : once(answers));

async function* once(answer: object): AsyncGenerator<object> {
  yield await answer;
}

function whole(method: DescMethod, answer: object): Message {
  return isMessage(answer, method.output) ? answer : create(method.output, { ...answer });
}

function isAsyncIterable(value: object): value is AsyncIterable<object> {
  return Symbol.asyncIterator in value;
}
