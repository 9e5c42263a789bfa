import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

/** A client of Connect that speaks one protocol, in one format, over one version of HTTP. */
export type ClientTransport = {
  readonly name: string;
  readonly httpVersion: "1.1" | "2";
  readonly open: (url: string, token?: string) => Transport;
};

const protocols = [
  { protocol: "gRPC", make: createGrpcTransport, httpVersion: "2" },
  { protocol: "gRPC-Web", make: createGrpcWebTransport, httpVersion: "1.1" },
  { protocol: "gRPC-Web", make: createGrpcWebTransport, httpVersion: "2" },
  { protocol: "Connect", make: createConnectTransport, httpVersion: "1.1" },
  { protocol: "Connect", make: createConnectTransport, httpVersion: "2" },
] as const;

const formats = [
  { format: "binary", useBinaryFormat: true },
  { format: "JSON", useBinaryFormat: false },
];

/** Every protocol, format and version of HTTP that a client of Connect speaks. */
export const transports: readonly ClientTransport[] = protocols.flatMap(({ protocol, make, httpVersion }) =>
  formats.map(({ format, useBinaryFormat }) => ({
    name: `${protocol} ${format} over HTTP/${httpVersion}`,
    httpVersion,
    open: (url, token) =>
      make({ baseUrl: url, httpVersion, useBinaryFormat, interceptors: token ? [bearer(token)] : [] }),
  })),
);

const bearer =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
