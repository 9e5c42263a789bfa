import { create, toBinary } from "@bufbuild/protobuf";
import { type Served, serve } from "./ground.ts";
import { type Fired, fire, type Shot } from "./load/external.ts";
import { type Row, row } from "./report.ts";
import { interleave, middle, type Pace, ratio } from "./rounds.ts";
import { round } from "./stats.ts";
import { asked, tinyPath, tinyRpc, tinyService } from "./tiny.ts";

type Door = { readonly name: string; readonly shot: Shot; readonly peer: string; readonly against: Served };

/** The same tiny method through every door, ours and that of the peer beside it. */
export async function doors(pace: Pace): Promise<Row[]> {
  await using opened = new AsyncDisposableStack();
  const start = async (...given: Parameters<typeof serve>) => opened.use(await serve(...given));
  const postern = await start("tiny");
  const grpcJs = await start("grpc_js");
  const fastify = await start("fastify");
  const http1 = await start("adapter");
  const http2 = await start("adapter", { args: ["2"] });
  const { grpc, rest, grpcWeb, connect, connectJson } = shots();
  const compared: Door[] = [
    { name: "gRPC", shot: grpc, peer: "grpc-js", against: grpcJs },
    { name: "REST/JSON", shot: rest, peer: "fastify", against: fastify },
    { name: "gRPC", shot: grpc, peer: "connectNodeAdapter", against: http2 },
    { name: "gRPC-Web", shot: grpcWeb, peer: "connectNodeAdapter", against: http1 },
    { name: "Connect", shot: connect, peer: "connectNodeAdapter", against: http1 },
    { name: "Connect JSON", shot: connectJson, peer: "connectNodeAdapter", against: http1 },
  ];
  const rows: Row[] = [];
  for (const door of compared) rows.push(...(await measured(door, postern, pace)));
  return rows;
}

async function measured({ name, shot, peer, against }: Door, postern: Served, pace: Pace): Promise<Row[]> {
  const found = await interleave<Fired>(
    [
      { name: "postern", run: (seconds) => fire(postern, shot, seconds) },
      { name: peer, run: (seconds) => fire(against, shot, seconds) },
    ],
    pace,
  );
  const theirs = found.get(peer);
  return [...found].map(([who, outcomes]) =>
    row(`${name} beside ${peer}`, who, {
      "calls/s": Math.round(middle(outcomes, ({ rate }) => rate)),
      "x peer": round(ratio(outcomes, theirs, ({ rate }) => rate)),
      "CPU us/call": round(middle(outcomes, ({ cpu }) => cpu)),
      "CPU x peer": round(ratio(theirs, outcomes, ({ cpu }) => cpu)),
      failed: outcomes.reduce((sum, { failed }) => sum + failed, 0),
    }),
  );
}

function shots() {
  const [method] = tinyService().methods;
  if (!method) throw new Error("the tiny service has no method");
  const proto = toBinary(method.input, create(method.input, asked));
  const json = Buffer.from(JSON.stringify(asked));
  const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, proto.length]), proto]);
  const shot = (path: string, http: "1" | "2", body: Uint8Array, headers: Shot["headers"]): Shot => ({
    ...{ path, http, body, headers },
  });
  const version = { "connect-protocol-version": "1" };
  return {
    grpc: shot(tinyRpc, "2", envelope, { "content-type": "application/grpc", te: "trailers" }),
    rest: shot(tinyPath, "1", json, { "content-type": "application/json" }),
    grpcWeb: shot(tinyRpc, "1", envelope, { "content-type": "application/grpc-web+proto" }),
    connect: shot(tinyRpc, "1", proto, { "content-type": "application/proto", ...version }),
    connectJson: shot(tinyRpc, "1", json, { "content-type": "application/json", ...version }),
  };
}
