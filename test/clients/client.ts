import {
  createRegistry,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";

/** A call in a form that every client can convert to its own. */
export type ClientCall = {
  readonly method: DescMethod;
  /** The request as proto3 JSON. */
  readonly request: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** A deadline set through the API of the client. */
  readonly timeoutMs?: number;
};

/** The answer that a client received, in one form for all clients. */
export type ClientAnswer = {
  readonly code: string;
  readonly message: string;
  /** The answer, and the details of a refusal, as proto3 JSON. */
  readonly body: JsonObject;
  readonly details: readonly JsonObject[];
  readonly reason: string | undefined;
  /** Each wrong field with its reason. */
  readonly violations: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
};

/** A stream that a client reads; disposing of it ends the stream. */
export type OpenStream = AsyncDisposable & {
  /** The messages so far, as proto3 JSON. */
  readonly received: () => Promise<JsonObject[]>;
};

/** A public client behind one interface. */
export type Client = {
  readonly call: (clientCall: ClientCall) => Promise<ClientAnswer>;
  readonly watch: (clientCall: ClientCall) => Promise<OpenStream>;
  /** A deadline as a header of its protocol, which the client's own timer knows nothing of; absent where it lets nobody set it. */
  readonly deadline?: Deadline;
};

type Deadline = (ms: number) => Readonly<Record<string, string>>;

/** The deadline header of gRPC and gRPC-Web. */
export const grpcTimeout: Deadline = (ms) => ({ "grpc-timeout": `${ms}m` });

/** The deadline header of Connect. */
export const connectTimeout: Deadline = (ms) => ({ "connect-timeout-ms": `${ms}` });

const registry = createRegistry(file_google_rpc_error_details);

/** The request as a message of the contract. */
export const messageOf = ({ method, request }: ClientCall): Message => fromJson(method.input, request);

/** An answer as proto3 JSON, with every field that is always written. */
export const jsonOf = (method: DescMethod, answer: Message): JsonObject =>
  toJson(method.output, answer, { alwaysEmitImplicit: true }) as JsonObject;

/** Converts a response. */
export const answered = (body: JsonObject, headers: ClientAnswer["headers"]): ClientAnswer => ({
  ...{ code: "OK", message: "", body, details: [], reason: undefined, violations: [], headers },
});

type Refusal = { readonly code: number; readonly message: string; readonly details: readonly Any[] };
type Detail = JsonObject & { reason?: string; fieldViolations?: { field: string; reason: string }[] };

/** Converts a refusal. */
export function refused({ code, message, details }: Refusal, headers: ClientAnswer["headers"]): ClientAnswer {
  const all = details.map((detail) => toJson(AnySchema, detail, { registry }) as Detail);
  const violations = all.flatMap(({ fieldViolations = [] }) => fieldViolations);
  return {
    ...{ code: Code[code] ?? `${code}`, message, body: {}, details: all, headers },
    reason: all.find(({ reason }) => reason !== undefined)?.reason,
    violations: violations.map(({ field, reason }) => `${field} ${reason}`),
  };
}

/** The details in the bytes of `grpc-status-details-bin`. */
export const detailsIn = (bytes: Uint8Array | undefined): readonly Any[] =>
  bytes ? fromBinary(StatusSchema, bytes).details : [];

/** Listens to a stream until it is disposed. */
export function listen(open: (signal: AbortSignal) => AsyncIterable<JsonObject>): OpenStream {
  const received: JsonObject[] = [];
  const stop = new AbortController();
  const ended = (async () => {
    for await (const message of open(stop.signal)) received.push(message);
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) received.push({ ended: String(error) } satisfies JsonValue);
  });
  return {
    received: async () => [...received],
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}
