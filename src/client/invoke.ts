import {
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { Door } from "./call_protocols.ts";
import type { Connection } from "./connection.ts";
import type { Contract } from "./contract.ts";
import { failureOf, requestFailure } from "./failure.ts";
import { callRest } from "./rest.ts";

/** A call, ready to be sent. */
export type Invocation = {
  readonly connection: Connection;
  readonly contract: Contract;
  readonly method: DescMethod;
  readonly door: Door;
  /** The messages of the request as JSON; exactly one unless the client streams. */
  readonly messages: readonly JsonValue[];
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
};

/** Calls a method; yields its response, or the messages of a stream, as JSON. Throws a Failure. */
export async function* invoke(invocation: Invocation): AsyncGenerator<JsonObject> {
  const { method, door, contract, messages } = invocation;
  const requests = messages.map((json) => requestOf(method, json, contract));
  try {
    if (door !== "rest") yield* overRpc({ ...invocation, door, requests });
    else yield* overRest(invocation, requests);
  } catch (error) {
    if (error instanceof ConnectError) throw failureOf(error, contract.types);
    throw error;
  }
}

/** Parses a message; one that cannot be parsed fails here as it would at the service. */
function requestOf({ input }: DescMethod, json: JsonValue, { types }: Contract): Message {
  try {
    return fromJson(input, json, { registry: types });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw requestFailure(`the request is no ${input.name}: ${text}`);
  }
}

type RpcInvocation = Invocation & { readonly door: Exclude<Door, "rest">; readonly requests: readonly Message[] };

async function* overRpc({
  connection,
  contract,
  method,
  door,
  requests,
  timeoutMs,
  signal,
}: RpcInvocation): AsyncGenerator<JsonObject> {
  const transport = connection.transport(door);
  const jsonOf = (message: Message) =>
    toJson(method.output, message, { registry: contract.types, alwaysEmitImplicit: true }) as JsonObject;
  const [only] = requests;
  if (isUnary(method)) {
    const { message } = await transport.unary(method, signal, timeoutMs, undefined, only ?? {});
    return yield jsonOf(message);
  }
  const { message } = await transport.stream(
    method as DescMethodStreaming,
    signal,
    timeoutMs,
    undefined,
    each(requests),
  );
  for await (const one of message) yield jsonOf(one);
}

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary";

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function* overRest(
  { connection, contract, method, timeoutMs, signal }: Invocation,
  requests: readonly Message[],
) {
  const [only] = requests;
  const message = only ? (toJson(method.input, only, { registry: contract.types }) as JsonObject) : {};
  const limit = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const headers: Record<string, string> = timeoutMs === undefined ? {} : { "connect-timeout-ms": String(timeoutMs) };
  yield* callRest(connection, method, { message, headers, signal: AbortSignal.any([signal, ...limit]) });
}
