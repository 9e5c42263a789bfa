import { create, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { type Fields, fieldsOf, type HttpResponse } from "../../../../test/wire/http.ts";
import { requestHttp2 } from "../../../../test/wire/http2.ts";
import { codeAndReason } from "../../../../test/wire/refusal.ts";
import type { ClientTransport } from "../../../../test/wire/transports.ts";
import type { GatewayLimits } from "../../src/gateway.ts";
import { openSample, type SampleOptions, type SampleServer } from "../sample_gateway.ts";

/** The path of the unary rpc that these tests call. */
export const path = "/sample.Samples/Do";

/** Opens the sample service for messages of 100 kB. */
export const openUnary = (options: SampleOptions = {}, limits: Partial<GatewayLimits> = {}): Promise<SampleServer> =>
  openSample({ messageMaxBytes: 100_000, headersMaxBytes: 16_384, ...limits }, options);

/** Fields of the sample message. */
export type Sample = Readonly<Record<string, unknown>>;

/** Calls the sample rpc. */
export async function call(
  { service, url }: SampleServer,
  transport: ClientTransport,
  fields: Sample,
  options?: CallOptions,
): Promise<Sample> {
  const client = createClient(service, transport.open(url));
  const method = client.do as unknown as (request: Sample, options?: CallOptions) => Promise<Sample>;
  return await method(fields, options);
}

/** Posts bytes to the sample rpc, without a client that could correct them. */
export const post = ({ url }: SampleServer, body: Uint8Array, headers: Fields): Promise<HttpResponse> =>
  requestHttp2(url, { ":path": path, ...headers }, body);

/** A sample message in the binary format. */
export function binary({ service }: SampleServer, fields: Sample): Uint8Array {
  const [method] = service.methods;
  if (!method) throw new Error("the sample has no method");
  return toBinary(method.input, create(method.input, fields));
}

/** The code and the reason of a refusal in gRPC. */
export const statusIn = (response: HttpResponse): string => codeAndReason(fieldsOf(response));
