import type { JsonObject } from "@bufbuild/protobuf";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { AccountService } from "../../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../../gen/postern/v1/application_pb.ts";
import { EventService } from "../../../gen/postern/v1/event_pb.ts";
import { UserGrantService } from "../../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type ClientCall, grpcTimeout, type OpenStream } from "../client.ts";
import { connectClient } from "../connect_client.ts";
import { grantViewer as grantViewerByConnect } from "./grant_viewer_connect.ts";
import { grantViewer as grantViewerByGrpcWeb } from "./grant_viewer_grpc_web.ts";
import { grpcWebClient } from "./grpc_web_client.ts";

/** A call on its way into the page: the method by its name. */
export type Carried = Omit<ClientCall, "method"> & { readonly service: string; readonly rpc: string };

/** The clients that run in the page. */
export type Kind = keyof typeof clients;

const clients = {
  "connect-web, Connect in JSON": (baseUrl: string) => connectClient(createConnectTransport({ baseUrl })),
  "connect-web, Connect in binary": (baseUrl: string) =>
    connectClient(createConnectTransport({ baseUrl, useBinaryFormat: true })),
  "connect-web, Connect by GET": (baseUrl: string) =>
    connectClient(createConnectTransport({ baseUrl, useHttpGet: true })),
  "connect-web, gRPC-Web": (baseUrl: string) => connectClient(createGrpcWebTransport({ baseUrl }), grpcTimeout),
  "grpc-web, text": (baseUrl: string) => grpcWebClient(baseUrl, "text"),
  "grpc-web, binary": (baseUrl: string) => grpcWebClient(baseUrl, "binary"),
};

const services = [AccountService, ApplicationService, EventService, UserGrantService, UserService];
const watched: OpenStream[] = [];

function callOf({ service, rpc, ...rest }: Carried): ClientCall {
  const method = services.find(({ typeName }) => typeName === service)?.methods.find(({ name }) => name === rpc);
  if (!method) throw new Error(`the page does not know ${service}.${rpc}`);
  return { ...rest, method };
}

/** The functions that the test calls. */
const driven = {
  call: (kind: Kind, baseUrl: string, call: Carried) => clients[kind](baseUrl).call(callOf(call)),
  watch: async (kind: Kind, baseUrl: string, call: Carried) =>
    watched.push(await clients[kind](baseUrl).watch(callOf(call))) - 1,
  received: (index: number): Promise<JsonObject[]> | undefined => watched[index]?.received(),
  stop: (index: number) => watched[index]?.[Symbol.asyncDispose](),
  grantViewerByConnect,
  grantViewerByGrpcWeb,
  async fetch(url: string, init: RequestInit) {
    const { status, headers } = await fetch(url, init);
    return { status, headers: Object.fromEntries(headers) };
  },
};
/** The functions of the page. */
export type Driven = typeof driven;

Object.assign(globalThis, { driven });
