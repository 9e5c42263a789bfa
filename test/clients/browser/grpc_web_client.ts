import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { GrpcWebClientBase, type Metadata, MethodDescriptor, MethodType, type RpcError } from "grpc-web";
import type { Client, ClientAnswer } from "../client.ts";
import { answered, detailsIn, grpcTimeout, jsonOf, listen, messageOf, refused } from "../client.ts";

/** Google's client for browsers, in one of its two formats. */
export function grpcWebClient(baseUrl: string, format: "text" | "binary"): Client {
  const grpcWeb = new GrpcWebClientBase({ format });
  return {
    deadline: grpcTimeout,
    async call(clientCall) {
      const { promise: head, resolve: setHead } = Promise.withResolvers<Metadata>();
      const { promise: answer, resolve, reject } = Promise.withResolvers<object>();
      const wire = wireOf(clientCall.method);
      const metadata = {
        ...clientCall.headers,
        ...(clientCall.timeoutMs && { deadline: `${Date.now() + clientCall.timeoutMs}` }),
      };
      const onEnd = (error: RpcError | null, message: object) => (error ? reject(error) : resolve(message));
      grpcWeb.rpcCall(baseUrl + wire.getName(), messageOf(clientCall), metadata, wire, onEnd).on("metadata", setHead);
      return answer.then(
        async (message) => answered(jsonOf(clientCall.method, message as Message), await head),
        async (error: RpcError) => refusedBy(error, await head),
      );
    },
    watch: async (clientCall) =>
      listen((signal) => {
        const wire = wireOf(clientCall.method);
        const stream = grpcWeb.serverStreaming(
          baseUrl + wire.getName(),
          messageOf(clientCall),
          { ...clientCall.headers },
          wire,
        );
        signal.addEventListener("abort", () => stream.cancel());
        return new ReadableStream({
          start(controller) {
            stream.on("data", (message) => controller.enqueue(jsonOf(clientCall.method, message as Message)));
            stream.on("error", (error) => controller.error(error));
            stream.on("end", () => controller.close());
            signal.addEventListener("abort", () => controller.close());
          },
        });
      }),
  };
}

// Google's code generator comes from GitHub only (grpc/grpc-web issue 1121); this is what it would generate for an rpc.
function wireOf(method: DescMethod): MethodDescriptor<object, object> {
  return new MethodDescriptor(
    `/${method.parent.typeName}/${method.name}`,
    method.methodKind === "unary" ? MethodType.UNARY : MethodType.SERVER_STREAMING,
    Object,
    Object,
    (message: Message) => toBinary(method.input, message),
    (bytes: Uint8Array) => fromBinary(method.output, bytes),
  );
}

function refusedBy({ code, message, metadata }: RpcError, head: Metadata): ClientAnswer {
  const bytes = metadata?.["grpc-status-details-bin"];
  const details = detailsIn(bytes === undefined ? undefined : base64Decode(bytes));
  return refused({ code, message, details }, head);
}
