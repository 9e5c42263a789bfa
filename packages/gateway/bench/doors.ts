import { isDeepStrictEqual } from "node:util";
import { create, type DescMessage, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { HealthCheckRequestSchema, HealthCheckResponseSchema } from "../gen/grpc/health/v1/health_pb.ts";
import { messagesOf, type Protocol, send } from "./load/answers.ts";
import { type Fired, fire, type Shot } from "./load/external.ts";
import { type Row, row } from "./report.ts";
import { interleave, middle, type Pace, ratio } from "./rounds.ts";
import { type Served, type ServeOptions, serve } from "./serve.ts";
import { round } from "./stats.ts";
import { counted, countRpc, greeting, greetRequest, tinyPath, tinyRpc, tinyService } from "./tiny.ts";

/** A call with its right answer. */
type Call = {
  readonly protocol: Protocol;
  readonly shot: Shot;
  readonly output: DescMessage;
  readonly messages: readonly JsonValue[];
};

type Door = {
  readonly name: string;
  readonly call: Call;
  readonly peer: string;
  readonly against: Served;
  /** How many times the calls of the peer ours should be. */
  readonly least: number;
};

/** The same tiny method, a stream and health through every door: of the program, and of the peer beside it. */
export async function doors(pace: Pace, program: URL): Promise<Row[]> {
  await using opened = new AsyncDisposableStack();
  const start = async (server: URL, options?: ServeOptions) => opened.use(await serve(server, options));
  const postern = await start(program);
  const grpcJs = await start(peer("grpc_js"));
  const fastify = await start(peer("fastify"));
  const http1 = await start(peer("adapter"));
  const http2 = await start(peer("adapter"), { args: ["2"] });
  const { grpc, rest, grpcWeb, connect, connectJson } = unaryCalls();
  const { grpcStream, connectStream } = streamCalls();
  const adapter = "connectNodeAdapter";
  const compared: Door[] = [
    { name: "gRPC", call: grpc, peer: "grpc-js", against: grpcJs, least: 4.5 },
    { name: "REST/JSON", call: rest, peer: "fastify", against: fastify, least: 1 },
    { name: "gRPC", call: grpc, peer: adapter, against: http2, least: 4 },
    { name: "gRPC-Web", call: grpcWeb, peer: adapter, against: http1, least: 8 },
    { name: "Connect", call: connect, peer: adapter, against: http1, least: 3 },
    { name: "Connect JSON", call: connectJson, peer: adapter, against: http1, least: 3 },
    { name: "Stream by gRPC", call: grpcStream, peer: adapter, against: http2, least: 2 },
    { name: "Stream by Connect", call: connectStream, peer: adapter, against: http1, least: 2 },
    { name: "health.Check", call: healthCall(), peer: "grpc-js", against: grpcJs, least: 3 },
  ];
  const rows: Row[] = [];
  for (const door of compared) rows.push(...(await measured(door, postern, pace)));
  return rows;
}

const peer = (name: string) => new URL(`./servers/${name}.ts`, import.meta.url);

async function measured({ name, call, peer, against, least }: Door, postern: Served, pace: Pace): Promise<Row[]> {
  const [ours, theirs] = [await checked(postern, call, name), await checked(against, call, `${name} by ${peer}`)];
  const found = await interleave<Fired>(
    [
      { name: "postern", run: (seconds) => fire(postern, ours, seconds) },
      { name: peer, run: (seconds) => fire(against, theirs, seconds) },
    ],
    pace,
  );
  const rows = [...found].map(([who, outcomes]) => rowOf(`${name} beside ${peer}`, who, outcomes, found.get(peer)));
  return rows.map((one) => (one.who === "postern" ? { ...one, goals: { "x peer": { least } } } : one));
}

const rowOf = (subject: string, who: string, outcomes: readonly Fired[], theirs: readonly Fired[] = []) =>
  row(subject, who, {
    "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
    "x peer": round(ratio(outcomes, theirs, ({ rate }) => rate)),
    "CPU us/call": round(middle(outcomes, ({ cpu }) => cpu)),
    "CPU x peer": round(ratio(theirs, outcomes, ({ cpu }) => cpu)),
    failed: outcomes.reduce((sum, { failed }) => sum + failed, 0),
  });

/** Calls once and looks at every message: a load tool counts any 200. Answers the call with the size of its right answer. */
async function checked({ url }: Served, { protocol, shot, output, messages }: Call, who: string): Promise<Shot> {
  const answer = await send(url, shot);
  const found = messagesOf(answer, protocol, output);
  if (!isDeepStrictEqual(found, messages))
    throw new Error(`${who} answers ${found.length} messages, and first ${JSON.stringify(found[0])}`);
  return { ...shot, answerBytes: answer.body.length };
}

const version = { "connect-protocol-version": "1" };
const grpcHeaders = { "content-type": "application/grpc", te: "trailers" };

function envelope(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** The method of this name with what every caller asks, as bytes. */
function tinyMethod(name: string) {
  const method = tinyService().methods.find((one) => one.name === name);
  if (!method) throw new Error(`the tiny service has no ${name}`);
  return { output: method.output, proto: toBinary(method.input, create(method.input, greetRequest)) };
}

function unaryCalls() {
  const { output, proto } = tinyMethod("Greet");
  const json = Buffer.from(JSON.stringify(greetRequest));
  const right = { output, messages: [greeting(greetRequest)] };
  const to = (body: Uint8Array, headers: Shot["headers"]): Shot => ({ path: tinyRpc, http: "1", body, headers });
  const grpc: Shot = { path: tinyRpc, http: "2", body: envelope(proto), headers: grpcHeaders };
  const rest: Shot = { path: tinyPath, http: "1", body: json, headers: { "content-type": "application/json" } };
  const grpcWeb = to(envelope(proto), { "content-type": "application/grpc-web+proto" });
  const connect = to(proto, { "content-type": "application/proto", ...version });
  const connectJson = to(json, { "content-type": "application/json", ...version });
  return {
    grpc: { ...right, protocol: "gRPC", shot: grpc },
    rest: { ...right, protocol: "REST", shot: rest },
    grpcWeb: { ...right, protocol: "gRPC-Web", shot: grpcWeb },
    connect: { ...right, protocol: "Connect", shot: connect },
    connectJson: { ...right, protocol: "Connect JSON", shot: connectJson },
  } satisfies Record<string, Call>;
}

function streamCalls() {
  const { output, proto } = tinyMethod("Count");
  const right = { output, messages: [...counted(greetRequest)] };
  const body = envelope(proto);
  const connect = { "content-type": "application/connect+proto", ...version };
  return {
    grpcStream: { ...right, protocol: "gRPC", shot: { path: countRpc, http: "2", body, headers: grpcHeaders } },
    connectStream: {
      ...right,
      protocol: "Connect stream",
      shot: { path: countRpc, http: "1", body, headers: connect },
    },
  } satisfies Record<string, Call>;
}

function healthCall(): Call {
  const body = envelope(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)));
  return {
    protocol: "gRPC",
    shot: { path: "/grpc.health.v1.Health/Check", http: "2", body, headers: grpcHeaders },
    output: HealthCheckResponseSchema,
    messages: [{ status: "SERVING" }],
  };
}
