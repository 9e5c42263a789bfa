import { setTimeout as sleep } from "node:timers/promises";
import { create, type DescMethod, type FileRegistry, type Message } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { type Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { Routes } from "../../src/gateway.ts";

// The messages of the suite; its contract is not part of this repository, so its messages have no generated types here.
type Header = { readonly name: string; readonly value: readonly string[] };
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

/** The service that the suite calls, with plain implementations as for any adapter of Connect. */
export function conformanceRoutes(registry: FileRegistry): Routes {
  const service = registry.getService("connectrpc.conformance.v1.ConformanceService");
  if (!service) throw new Error("the suite has no ConformanceService");
  const { once, many, duplex } = implementations(registry);
  const method = <K extends DescMethod["methodKind"]>(name: string, kind: K) => {
    const found = service.method[name];
    if (found?.methodKind !== kind) throw new Error(`the suite has no ${name}`);
    return found as DescMethod & { readonly methodKind: K };
  };
  const unary = async (request: Message, context: HandlerContext) => once([request as One], context);
  return (router) => {
    router.rpc(method("unary", "unary"), unary);
    router.rpc(method("idempotentUnary", "unary"), unary);
    router.rpc(method("serverStream", "server_streaming"), (request, context) => many([request as Many], context));
    router.rpc(method("clientStream", "client_streaming"), async (requests, context) =>
      once((await collected(requests)) as One[], context),
    );
    router.rpc(method("bidiStream", "bidi_streaming"), (requests, context) =>
      duplex(requests as AsyncIterable<Many>, context),
    );
  };
}

function implementations(registry: FileRegistry) {
  const infoType = registry.getMessage("connectrpc.conformance.v1.ConformancePayload.RequestInfo");
  if (!infoType) throw new Error("the suite has no RequestInfo");

  const infoOf = (requests: readonly Message[], { requestHeader, requestMethod, url, timeoutMs }: HandlerContext) => {
    const query = requestMethod === "GET" ? new URL(url).searchParams : new URLSearchParams();
    const parameters = [...new Set(query.keys())].map((name) => ({ name, value: query.getAll(name) }));
    const left = timeoutMs();
    return create(infoType, {
      requestHeaders: Array.from(requestHeader, ([name, value]) => ({ name, value: [value] })),
      requests: requests.map((one) => packed(registry, one)),
      ...(left !== undefined && { timeoutMs: BigInt(Math.round(left)) }),
      ...(parameters.length > 0 && { connectGetInfo: { queryParams: parameters } }),
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

  async function once(requests: readonly One[], context: HandlerContext) {
    const definition = requests[0]?.responseDefinition;
    setMetadata(definition, context);
    const requestInfo = infoOf(requests, context);
    await sleep(definition?.responseDelayMs ?? 0);
    const response = definition?.response;
    if (response?.case === "error") throw failure(response.value, requestInfo);
    return { payload: { requestInfo, ...(response?.case === "responseData" && { data: response.value }) } };
  }

  async function* many(requests: readonly Many[], context: HandlerContext) {
    const definition = requests[0]?.responseDefinition;
    setMetadata(definition, context);
    const { responseData = [], error, responseDelayMs = 0 } = definition ?? {};
    for (const [index, data] of responseData.entries()) {
      await sleep(responseDelayMs);
      yield { payload: { data, ...(index === 0 && { requestInfo: infoOf(requests, context) }) } };
    }
    if (error) throw failure(error, responseData.length === 0 ? infoOf(requests, context) : undefined);
  }

  async function* duplex(requests: AsyncIterable<Many>, context: HandlerContext) {
    const waiting: Many[] = [];
    let definition: Many["responseDefinition"];
    let sent = 0;
    let isDuplex = false;
    for await (const request of requests) {
      if (!definition) {
        definition = request.responseDefinition;
        isDuplex = request.fullDuplex ?? false;
        setMetadata(definition, context);
      }
      waiting.push(request);
      if (!isDuplex) continue;
      const data = definition?.responseData[sent];
      if (!data) break;
      await sleep(definition?.responseDelayMs ?? 0);
      yield { payload: { data, requestInfo: infoOf(waiting.splice(0), context) } };
      sent += 1;
    }
    for (const data of definition?.responseData.slice(sent) ?? []) {
      await sleep(definition?.responseDelayMs ?? 0);
      const requestInfo = sent === 0 && { requestInfo: infoOf(waiting.splice(0), context) };
      yield { payload: { data, ...requestInfo } };
      sent += 1;
    }
    if (definition?.error) throw failure(definition.error, sent === 0 ? infoOf(waiting, context) : undefined);
  }

  return { once, many, duplex };
}

async function collected<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

function setMetadata(definition: Definition | undefined, { responseHeader, responseTrailer }: HandlerContext): void {
  for (const { name, value } of definition?.responseHeaders ?? [])
    for (const one of value) responseHeader.append(name, one);
  for (const { name, value } of definition?.responseTrailers ?? [])
    for (const one of value) responseTrailer.append(name, one);
}

function packed(registry: FileRegistry, message: Message): Any {
  const type = registry.getMessage(message.$typeName);
  if (!type) throw new Error(`${message.$typeName} is not of the suite`);
  return anyPack(type, message);
}
