import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fromBinary } from "@bufbuild/protobuf";
import { type Span, TracesDataSchema } from "../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";

/** A request that the collector got. */
export type Received = {
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
};

type CollectorAnswer = {
  readonly status: number;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A collector of OTLP over HTTP, on a port of its own, that records requests and gives scripted answers. */
export async function startCollector(replyTo: () => CollectorAnswer = () => ({ status: 200 })) {
  const received: Received[] = [];
  const spans: Span[] = [];
  const server = createServer(async (request, response) => {
    const data = fromBinary(TracesDataSchema, await buffer(request));
    const { status, body, headers } = replyTo();
    for (const { resource, scopeSpans } of data.resourceSpans) {
      const attributes = attributesOf(resource ?? { attributes: [] });
      received.push({ path: request.url, headers: request.headers, resource: attributes });
      if (status === 200) spans.push(...scopeSpans.flatMap((one) => one.spans));
    }
    response.writeHead(status, { "content-type": "application/x-protobuf", ...headers }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...{ received, spans },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The attributes of a span or a resource, by their keys. */
export function attributesOf({ attributes }: Pick<Span, "attributes">): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value?.value.value]));
}

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The URL of a collector that is gone. */
export async function nobodyAt(): Promise<string> {
  const { url, ...gone } = await startCollector();
  await gone[Symbol.asyncDispose]();
  return url;
}
