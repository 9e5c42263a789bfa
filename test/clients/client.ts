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

/** A call, before a client makes its own of it. */
export type Asked = {
  readonly method: DescMethod;
  /** The request as proto3 JSON. */
  readonly request: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** A deadline given in the client's own way. */
  readonly timeoutMs?: number;
};

/** What a client made of an answer, in the same words for all of them. */
export type Told = {
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

/** A stream that a client listens to; disposing ends it. */
export type Watching = AsyncDisposable & {
  /** The messages so far, as proto3 JSON. */
  readonly heard: () => Promise<JsonObject[]>;
};

/** A public client, in its own words for the same things. */
export type Client = {
  readonly call: (asked: Asked) => Promise<Told>;
  readonly watch: (asked: Asked) => Promise<Watching>;
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
export const messageOf = ({ method, request }: Asked): Message => fromJson(method.input, request);

/** An answer as proto3 JSON, with every field that is always written. */
export const jsonOf = (method: DescMethod, answer: Message): JsonObject =>
  toJson(method.output, answer, { alwaysEmitImplicit: true }) as JsonObject;

/** What an answer tells. */
export const answered = (body: JsonObject, headers: Told["headers"]): Told => ({
  ...{ code: "OK", message: "", body, details: [], reason: undefined, violations: [], headers },
});

type Refusal = { readonly code: number; readonly message: string; readonly details: readonly Any[] };
type Detail = JsonObject & { reason?: string; fieldViolations?: { field: string; reason: string }[] };

/** What a refusal tells. */
export function refused({ code, message, details }: Refusal, headers: Told["headers"]): Told {
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
export function listen(open: (signal: AbortSignal) => AsyncIterable<JsonObject>): Watching {
  const heard: JsonObject[] = [];
  const stop = new AbortController();
  const ended = (async () => {
    for await (const message of open(stop.signal)) heard.push(message);
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) heard.push({ ended: String(error) } satisfies JsonValue);
  });
  return {
    heard: async () => [...heard],
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}
