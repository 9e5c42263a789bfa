import { readFile } from "node:fs/promises";
import { createFileRegistry, type DescMethod, fromBinary, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";

/** Calls Eliza by what a transport of Connect offers, with the descriptors of the project. */
export async function elizaClient(descriptors: string) {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(descriptors)));
  const service = registry.getService("connectrpc.eliza.v1.ElizaService");
  if (!service) throw new Error("the project has no Eliza");
  const { say, introduce, converse } = service.method;
  if (!isOf(say, "unary") || !isOf(introduce, "server_streaming") || !isOf(converse, "bidi_streaming"))
    throw new Error("the project has another Eliza");
  return {
    async say(transport: Transport, sentence: string): Promise<unknown> {
      const { message } = await transport.unary(say, undefined, undefined, undefined, { sentence });
      return toJson(say.output, message);
    },
    introduce: (transport: Transport, name: string) => streamed(transport, introduce, [{ name }]),
    converse: (transport: Transport, sentences: readonly string[]) =>
      streamed(
        transport,
        converse,
        sentences.map((sentence) => ({ sentence })),
      ),
  };
}

type Kind = DescMethod["methodKind"];
type MethodOf<K extends Kind> = DescMethod & { readonly methodKind: K };
type Streaming = MethodOf<"server_streaming"> | MethodOf<"bidi_streaming">;

const isOf = <K extends Kind>(method: DescMethod | undefined, kind: K): method is MethodOf<K> =>
  method?.methodKind === kind;

async function streamed(transport: Transport, method: Streaming, sent: MessageInitShape<Streaming["input"]>[]) {
  async function* requests() {
    yield* sent;
  }
  const { message } = await transport.stream(method, undefined, undefined, undefined, requests());
  const answers: unknown[] = [];
  for await (const one of message) answers.push(toJson(method.output, one));
  return answers;
}
