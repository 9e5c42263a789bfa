import { setTimeout as sleep } from "node:timers/promises";
import { create, type DescService, type FileRegistry, type Message } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import type { Call, Operation, Operations } from "../../src/transport/operations.ts";
import { type Aside, aside, asideKey, type Header } from "./aside.ts";

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
export function conformanceService(registry: FileRegistry) {
  const service = registry.getService("connectrpc.conformance.v1.ConformanceService");
  if (!service) throw new Error("the suite has no ConformanceService");
  const talk = talkOf(registry);
  const operations: Operations = new Map(operationsOf(service, talk).map((one) => [one.path, one]));
  return { operations, standard: (router: ConnectRouter) => streamRequests(router, service, talk) };
}

type Talk = ReturnType<typeof talkOf>;

function operationsOf(service: DescService, talk: Talk): Operation[] {
  const path = (name: string) => `/${service.typeName}/${name}`;
  return service.methods.flatMap((method): Operation[] => {
    const about = { method, path: path(method.name), rules: [] };
    if (method.name === "Unimplemented")
      return [
        { ...about, kind: "unary", unary: () => Promise.reject(new ConnectError("not here", Code.Unimplemented)) },
      ];
    if (method.methodKind === "unary")
      return [
        {
          ...about,
          kind: "unary",
          unary: async (request, { values }) =>
            create(method.output, await talk.once([request as One], values.get(asideKey))),
        },
      ];
    if (method.methodKind !== "server_streaming") return [];
    const stream = async function* (request: Message, { values }: Call) {
      for await (const answer of talk.often([request as Many], values.get(asideKey)))
        yield create(method.output, answer);
    };
    return [{ ...about, kind: "stream", stream }];
  });
}

function streamRequests(router: ConnectRouter, service: DescService, talk: Talk): void {
  for (const method of service.methods) {
    if (method.methodKind === "client_streaming")
      router.rpc({ ...method, methodKind: method.methodKind }, async (requests) =>
        create(method.output, await talk.once(await collected(requests as AsyncIterable<One>))),
      );
    if (method.methodKind === "bidi_streaming")
      router.rpc({ ...method, methodKind: method.methodKind }, async function* (requests) {
        for await (const answer of talk.both(requests as AsyncIterable<Many>)) yield create(method.output, answer);
      });
  }
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

  async function once(requests: readonly One[], about = aside()) {
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

  async function* both(requests: AsyncIterable<Many>) {
    const about = aside();
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
      const data = definition?.responseData[sent];
      if (!duplex || !data) continue;
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
