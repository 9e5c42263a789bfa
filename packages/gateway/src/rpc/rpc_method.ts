import {
  create,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  type JsonValue,
  type Message,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { encodingNames } from "../codec/compression.ts";
import { type Decoder, type DecoderOptions, decoderOf } from "../codec/decoder.ts";
import { encodeJson } from "../codec/json.ts";
import { binaryInPieces, hasListOfMessages, jsonTextInPieces, longListIn, type Pause } from "../codec/pieces.ts";
import type { UnaryContext } from "./context.ts";
import { type InvokeStream, type InvokeUnary, streamPipeline, unaryPipeline } from "./pipeline.ts";
import type { RequestGate, Route } from "./router.ts";
import { onceIfShared } from "./shared_message.ts";

/** Decodes request messages and encodes response messages; long ones in pieces, if it may pause. */
export type Codec = {
  readonly decode: (bytes: Uint8Array, pause?: Pause) => Message | Promise<Message>;
  readonly encode: (message: Message) => Encoded;
  readonly encodeInPieces: (message: Message, pause: Pause) => Encoded | Promise<Encoded>;
};

export type Encoded = Uint8Array | string;

/** The limits of an rpc: the maximum size of a message, also after decompression, and the accepted encodings. */
export type MethodLimits = { readonly messageMaxBytes: number; readonly encodings: readonly string[] };

type MethodProperties = {
  /** `/postern.v1.UserService/GetUser` */
  readonly path: string;
  /** Its google.api.http rules, the main one before the additional ones. */
  readonly rules: readonly HttpRule[];
  /** Whether it can be called by GET. */
  readonly isRead: boolean;
  readonly requestGate: RequestGate | undefined;
  readonly limits: MethodLimits;
  readonly decoder: Decoder;
  readonly proto: Codec;
  readonly json: Codec;
  /** Writes a response as a JSON value. */
  readonly toJson: (message: Message) => JsonValue;
};

/** An rpc with one request message and one response message. */
export type UnaryRpc = MethodProperties & {
  readonly kind: "unary";
  readonly method: UnaryContext["method"];
  /** The message of a context until the request is decoded. */
  readonly empty: Message;
  readonly invoke: InvokeUnary;
};

/** An rpc that streams requests, responses or both. */
export type StreamRpc = MethodProperties & {
  readonly kind: "stream";
  readonly method: Extract<
    Route["spec"],
    { kind: "server_streaming" | "client_streaming" | "bidi_streaming" }
  >["method"];
  readonly invoke: InvokeStream;
};

/** An rpc, ready to be called. */
export type RpcMethod = UnaryRpc | StreamRpc;

/** Options that all rpcs of a server share. */
export type RpcMethodOptions = Pick<DecoderOptions, "bounds" | "registry"> & {
  readonly rules: (type: DescMethod["input"]) => DecoderOptions["rules"];
  /** The limits of an rpc by its contract; settings may lower them. */
  readonly limitsOf: ((method: DescMethod) => Partial<MethodLimits>) | undefined;
  readonly messageMaxBytes: number;
  /** Whether an rpc ignores unknown JSON fields. */
  readonly ignoresUnknown?: ((method: DescMethod) => boolean) | undefined;
};

/** Prepares an rpc for its calls. */
export function rpcMethod({ spec, options }: Route, shared: RpcMethodOptions): RpcMethod {
  const { interceptors } = options;
  const { method } = spec;
  const properties = methodProperties(method, { ...shared, route: options });
  return spec.kind === "unary"
    ? {
        ...properties,
        kind: "unary",
        method: spec.method,
        empty: create(method.input),
        invoke: unaryPipeline(spec, interceptors),
      }
    : {
        ...properties,
        proto: { ...properties.proto, encode: onceIfShared(properties.proto.encode) },
        json: { ...properties.json, encode: onceIfShared(properties.json.encode) },
        kind: "stream",
        method: spec.method,
        invoke: streamPipeline(spec, interceptors),
      };
}

function methodProperties(
  method: DescMethod,
  shared: RpcMethodOptions & { readonly route: Route["options"] },
): MethodProperties {
  const { route, rules, bounds, registry } = shared;
  const { input, output } = method;
  const toJson = (message: Message) => encodeJson(output, message, registry);
  const ignoresUnknown = shared.ignoresUnknown?.(method);
  const decoder = decoderOf(input, { rules: rules(input), bounds, registry, ignoresUnknown });
  return {
    path: pathOf(method),
    rules: httpRulesOf(method),
    isRead: isRead(method),
    requestGate: route.requestGate,
    limits: limitsOf(method, shared),
    decoder,
    proto: protoCodec(output, decoder),
    json: jsonCodec(output, decoder, registry),
    toJson,
  };
}

function protoCodec(output: DescMessage, { fromBinary }: Decoder): Codec {
  const encode = (message: Message) => toBinary(output, message);
  return {
    decode: fromBinary,
    encode,
    encodeInPieces: hasListOfMessages(output)
      ? (message, pause) => (longListIn(output, message) ? binaryInPieces(output, message, pause) : encode(message))
      : encode,
  };
}

function jsonCodec(output: DescMessage, { fromJson }: Decoder, registry: Registry | undefined): Codec {
  const toJson = (type: DescMessage, message: Message) => encodeJson(type, message, registry);
  const encode = (message: Message) => JSON.stringify(toJson(output, message));
  return {
    decode: fromJson,
    encode,
    encodeInPieces: hasListOfMessages(output)
      ? (message, pause) =>
          longListIn(output, message) ? jsonTextInPieces(output, message, { toJson, pause }) : encode(message)
      : encode,
  };
}

function limitsOf(method: DescMethod, shared: RpcMethodOptions & { readonly route: Route["options"] }): MethodLimits {
  const { messageMaxBytes = Infinity, encodings = encodingNames } = shared.limitsOf?.(method) ?? {};
  const { readMaxBytes = Infinity } = shared.route;
  return { messageMaxBytes: Math.min(messageMaxBytes, readMaxBytes, shared.messageMaxBytes), encodings };
}

/** The path of an rpc, the same in every protocol. */
export const pathOf = ({ parent, name }: DescMethod): string => `/${parent.typeName}/${name}`;

/** Whether an rpc promises to change nothing. */
export const isRead = ({ idempotency, methodKind }: DescMethod): boolean =>
  methodKind === "unary" && idempotency === Idempotency.NO_SIDE_EFFECTS;

/** The rules of google.api.http of an rpc. */
export function httpRulesOf(method: DescMethod): readonly HttpRule[] {
  return hasOption(method, http) ? withAdditional(getOption(method, http)) : [];
}

const withAdditional = (rule: HttpRule): HttpRule[] => [rule, ...rule.additionalBindings.flatMap(withAdditional)];
