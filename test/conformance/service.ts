import { setTimeout as sleep } from "node:timers/promises";
import { create, type FileRegistry, type Message } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { encodingNames } from "../../packages/gateway/src/codec/compression.ts";
import {
  type Call,
  type Guard,
  type Implementation,
  type Operation,
  type Rpc,
  standardRpcs,
} from "../../packages/gateway/src/rpc/operations.ts";
import type { Parts } from "../../packages/gateway/src/rpc/rooms.ts";
import { type Aside, asideKey, type Header } from "./aside.ts";

// What the suite sends; its contract is not part of this repository, so its messages have no generated types here.
type Failure = { readonly code: Code; readonly message?: string; readonly details: readonly Any[] };
type Definition = {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
};
type One = Message & {
  readonly responseDefinition?: Definition & {
    readonly response:
      | { case: "responseData"; value: Uint8Array }
      | { case: "error"; value: Failure }
      | { case: undefined };
  };
};
type Many = Message & {
  readonly responseDefinition?: Definition & { readonly responseData: readonly Uint8Array[]; readonly error?: Failure };
  readonly fullDuplex?: boolean;
};

/** The service that the suite calls: what a door of ours carries as operations, and the rest as it carries reflection. */
export function conformanceService(registry: FileRegistry, refused: Parts["refused"]) {
  const service = registry.getService("connectrpc.conformance.v1.ConformanceService");
  if (!service) throw new Error("the suite has no ConformanceService");
  const rpcs = standardRpcs([{ service, handlers: handlersOf(talkOf(registry)) }], guardOf(refused), {
    messageBytes: Number.POSITIVE_INFINITY,
    encodings: encodingNames,
  }).map(unhurried);
  const operations = rpcs.flatMap((rpc): [string, Operation][] => (rpc.kind === "dialogue" ? [] : [[rpc.path, rpc]]));
  return { operations: new Map(operations), standard: rpcs.filter(({ kind }) => kind === "dialogue") };
}

function guardOf(refused: Parts["refused"]): Guard {
  return {
    unary: (method, handler) => async (request, call) => {
      try {
        return await handler(request, call);
      } catch (error) {
        throw refused(error, call, method.name);
      }
    },
    stream: (method, handler) =>
      async function* (request, call) {
        try {
          yield* handler(request, call);
        } catch (error) {
          throw refused(error, call, method.name);
        }
      },
  };
}

/** The suite sets headers with the first message, which no handler of ours does: so none may be sent before it. */
function unhurried(rpc: Rpc): Rpc {
  const alone = (call: Call) => ({
    ...call,
    values: createContextValues().set(asideKey, call.values.get(asideKey)),
  });
  if (rpc.kind === "stream") return { ...rpc, stream: (request, call) => rpc.stream(request, alone(call)) };
  if (rpc.kind === "dialogue") return { ...rpc, dialogue: (requests, call) => rpc.dialogue(requests, alone(call)) };
  return rpc;
}

type Talk = ReturnType<typeof talkOf>;

function handlersOf({ once, often, both }: Talk): Implementation["handlers"] {
  const unary = (request: One, { values }: Call) => once([request], values.get(asideKey));
  return {
    unary,
    idempotentUnary: unary,
    unimplemented: () => Promise.reject(new ConnectError("not here", Code.Unimplemented)),
    serverStream: (request: Many, { values }: Call) => often([request], values.get(asideKey)),
    clientStream: async (requests: AsyncIterable<One>, { values }: Call) =>
      once(await collected(requests), values.get(asideKey)),
    bidiStream: (requests: AsyncIterable<Many>, { values }: Call) => both(requests, values.get(asideKey)),
  };
}

async function collected<T>(requests: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const request of requests) all.push(request);
  return all;
}

function talkOf(registry: FileRegistry) {
  const infoType = registry.getMessage("connectrpc.conformance.v1.ConformancePayload.RequestInfo");
  if (!infoType) throw new Error("the suite has no RequestInfo");
  const told = (requests: readonly Message[], about: Aside | undefined) => {
    const { requestHeaders = [], query = [] } = about ?? {};
    const timeoutMs = timeoutIn(requestHeaders);
    return create(infoType, {
      ...{ requestHeaders, requests: requests.map((one) => packed(registry, one)) },
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(query.length > 0 && { connectGetInfo: { queryParams: query } }),
    });
  };
  const failure = ({ code, message = "", details }: Failure, info?: Message) => {
    const all = [...details.map((one) => anyUnpack(one, registry)), info].filter((one) => one !== undefined);
    const named = all.flatMap((value) => {
      const desc = registry.getMessage(value.$typeName);
      return desc ? [{ desc, value }] : [];
    });
    return new ConnectError(message, code, undefined, named);
  };

  async function once(requests: readonly One[], about: Aside | undefined) {
    const definition = requests[0]?.responseDefinition;
    add(definition, about);
    const requestInfo = told(requests, about);
    await sleep(definition?.responseDelayMs ?? 0);
    const response = definition?.response;
    if (response?.case === "error") throw failure(response.value, requestInfo);
    return { payload: { requestInfo, ...(response?.case === "responseData" && { data: response.value }) } };
  }

  async function* often(requests: readonly Many[], about: Aside | undefined) {
    const definition = requests[0]?.responseDefinition;
    add(definition, about);
    const { responseData = [], error, responseDelayMs = 0 } = definition ?? {};
    for (const [index, data] of responseData.entries()) {
      await sleep(responseDelayMs);
      yield { payload: { data, ...(index === 0 && { requestInfo: told(requests, about) }) } };
    }
    if (error) throw failure(error, responseData.length === 0 ? told(requests, about) : undefined);
  }

  async function* both(requests: AsyncIterable<Many>, about: Aside | undefined) {
    const waiting: Many[] = [];
    let definition: Many["responseDefinition"];
    let sent = 0;
    let duplex = false;
    for await (const request of requests) {
      if (!definition) {
        definition = request.responseDefinition;
        duplex = request.fullDuplex ?? false;
        add(definition, about);
      }
      waiting.push(request);
      if (!duplex) continue;
      const data = definition?.responseData[sent];
      // Whoever has nothing more to say does not wait for the end of the requests.
      if (!data) break;
      await sleep(definition?.responseDelayMs ?? 0);
      yield { payload: { data, requestInfo: told(waiting.splice(0), about) } };
      sent += 1;
    }
    for (const data of definition?.responseData.slice(sent) ?? []) {
      await sleep(definition?.responseDelayMs ?? 0);
      const requestInfo = sent === 0 && { requestInfo: told(waiting.splice(0), about) };
      yield { payload: { data, ...requestInfo } };
      sent += 1;
    }
    if (definition?.error) throw failure(definition.error, sent === 0 ? told(waiting, about) : undefined);
  }

  return { once, often, both };
}

function add(definition: Definition | undefined, about: Aside | undefined): void {
  if (!about) throw new Error("no call is running");
  about.headers = definition?.responseHeaders ?? [];
  about.trailers = definition?.responseTrailers ?? [];
}

function packed(registry: FileRegistry, message: Message): Any {
  const type = registry.getMessage(message.$typeName);
  if (!type) throw new Error(`${message.$typeName} is not of the suite`);
  return anyPack(type, message);
}

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

function timeoutIn(headers: readonly Header[]): bigint | undefined {
  const value = (name: string) => headers.find((one) => one.name === name)?.value[0];
  const connect = value("connect-timeout-ms");
  if (connect !== undefined) return BigInt(connect);
  const [, count, unit = ""] = /^(\d+)([HMSmun])$/.exec(value("grpc-timeout") ?? "") ?? [];
  return count === undefined ? undefined : BigInt(Math.round(Number(count) * (units[unit] ?? 0)));
}
