import { protoText } from "../bodies.ts";
import { connectStream, enveloped, fieldsOf, get, grpc, grpcWeb } from "../calls.ts";
import { type Case, ofCall } from "../case.ts";
import { begin, type Client, isOver, paced } from "../client.ts";
import { openHttp2 } from "../http2.ts";

const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const symbol = () => protoText(4, Buffer.from("postern.v1.UserService"));
const documents = { documents: true } as const;

const probes = ["/healthz", "/readyz"].map((path) => ofCall(path, () => get(path)));

const papers = ["/openapi.json", "/docs", "/metrics"].flatMap((path) => [
  ofCall(path, () => get(path), documents),
  ...["gzip", "br", "zstd"].map((encoding) =>
    ofCall(`${path} in ${encoding}`, () => get(path, { "accept-encoding": encoding }), documents),
  ),
]);

const reflections: readonly Case[] = [
  ofCall("reflection, a file with all that it imports, gRPC", () => grpc(reflection, { bytes: symbol() }), documents),
  ofCall(
    "reflection, a file with all that it imports, gRPC in gzip",
    () => {
      const call = grpc(reflection, { bytes: symbol() });
      return { ...call, headers: { ...call.headers, "grpc-accept-encoding": "gzip" } };
    },
    documents,
  ),
  ofCall(
    "reflection, a file with all that it imports, gRPC-Web",
    () => grpcWeb(reflection, { bytes: symbol() }),
    documents,
  ),
  ofCall(
    "reflection, a list of services, Connect",
    () => connectStream(reflection, { bytes: protoText(7, Buffer.alloc(0)) }),
    documents,
  ),
  { name: "reflection, many questions in one stream", caller: "unknown", documents: true, run: questions },
];

/** Questions of thirty bytes, each answered by a file and all that it imports; their answers are read. */
async function questions(client: Client): Promise<number> {
  using connection = await openHttp2(client);
  const one = enveloped({ bytes: symbol() });
  const many = Buffer.alloc(one.length * 500, one);
  const fields = fieldsOf(client, grpc(reflection, { bytes: symbol() }));
  let _sent = 0;
  while (!isOver(client) && connection.isUsable()) {
    await paced(client);
    const stream = await connection.request(fields);
    const end = begin(client, many.length);
    await stream.send(many, { ends: true, waitMs: 500 });
    _sent += many.length;
    const { bytes } = await stream.ended;
    // Each question has an answer of its own.
    end(bytes / 500);
  }
  return 0;
}

/** Reads of public documents, at any rate. */
export const documentCases: readonly Case[] = [...probes, ...papers, ...reflections];
