import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { type Client, connectTimeout, grpcTimeout } from "./client.ts";
import { connectClient } from "./connect_client.ts";
import { hearsStreams, keepsPromises } from "./promises.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const opened: Readonly<Record<string, (baseUrl: string) => Client>> = {
  gRPC: (baseUrl) => connectClient(createGrpcTransport({ baseUrl }), grpcTimeout),
  "gRPC-Web over HTTP/1.1": (baseUrl) =>
    connectClient(createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }), grpcTimeout),
  "gRPC-Web over HTTP/2": (baseUrl) =>
    connectClient(createGrpcWebTransport({ baseUrl, httpVersion: "2" }), grpcTimeout),
  "Connect over HTTP/1.1": (baseUrl) =>
    connectClient(createConnectTransport({ baseUrl, httpVersion: "1.1" }), connectTimeout),
  "Connect over HTTP/2, JSON, and GET": (baseUrl) =>
    connectClient(
      createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false, useHttpGet: true }),
      connectTimeout,
    ),
};

describe.each(Object.entries(opened))("%s", (_, open) => {
  let client: Client;
  beforeAll(() => {
    client = open(postern.url);
  });
  keepsPromises(() => ({ postern, client }));
  hearsStreams(() => ({ postern, client }));
});
