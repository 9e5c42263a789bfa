import { create, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { type Fields, fieldsOf, type HttpResponse } from "../wire/http.ts";
import { requestHttp2 } from "../wire/http2.ts";
import { codeAndReason } from "../wire/refusal.ts";
import type { ClientTransport } from "../wire/transports.ts";
import { path, type SampleLane } from "./lane_sample.ts";

/** Fields of the sample message. */
export type Sample = Readonly<Record<string, unknown>>;

/** Calls the sample rpc. */
export async function call(
  lane: SampleLane,
  transport: ClientTransport,
  fields: Sample,
  options?: CallOptions,
): Promise<Sample> {
  const client = createClient(lane.service, transport.open(transport.httpVersion === "2" ? lane.http2 : lane.http1));
  const method = client.do as unknown as (request: Sample, options?: CallOptions) => Promise<Sample>;
  return await method(fields, options);
}

/** Posts bytes to the sample rpc, without a client that could mend them. */
export const post = (lane: SampleLane, body: Uint8Array, headers: Fields): Promise<HttpResponse> =>
  requestHttp2(lane.http2, { ":path": path, ...headers }, body);

/** A sample message in the binary format. */
export function binary({ service }: SampleLane, fields: Sample): Uint8Array {
  const [method] = service.methods;
  if (!method) throw new Error("the sample has no method");
  return toBinary(method.input, create(method.input, fields));
}

/** The code and the reason of a refusal in gRPC. */
export const statusIn = (response: HttpResponse): string => codeAndReason(fieldsOf(response));
