import { readFile } from "node:fs/promises";
import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { join } from "node:path";
import type { Interceptor, Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { Config } from "../config/config.ts";
import { localUrl } from "../config/local_address.ts";
import { readSecret } from "../config/secret_file.ts";
import { ConfigError } from "../config/setting.ts";
import type { Door } from "./call_protocols.ts";

/** The service that a command calls, and the token for it; options of the command. */
export type Target = {
  /** The service; by default, the one with these settings on this machine. */
  readonly url?: string | undefined;
  /** The file of a token; by default, the first administrator's, for the service with these settings. */
  readonly tokenFile?: string | undefined;
  readonly organization?: string | undefined;
  /** A file of certificate authorities to trust, in PEM. */
  readonly caFile?: string | undefined;
};

/** The means to call one service. */
export type Connection = AsyncDisposable & {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca: string | undefined;
  /** The transport of a protocol; REST has none. */
  readonly transport: (door: Exclude<Door, "rest">) => Transport;
  /** The agent for requests over HTTP/1.1. */
  readonly agent: Agent;
};

// The largest page of a list takes a few hundred kilobytes.
const readMaxBytes = 64 * 2 ** 20;

/** Prepares calls to a service; connections are opened on first use. */
export async function openConnection(config: Config, target: Target): Promise<Connection> {
  const url = urlOf(config, target);
  const token = await tokenOf(config, target);
  const ca = await authorities(config, target);
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(target.organization === undefined ? {} : { "x-service-orgid": target.organization }),
  };
  const agent = new (url.startsWith("https:") ? SecureAgent : Agent)({ keepAlive: true, ...(ca ? { ca } : {}) });
  const sessionManager = new Http2SessionManager(url, {}, ca ? { ca } : {});
  const common = { baseUrl: url, interceptors: [withHeaders(headers)], readMaxBytes };
  // HTTP/1.1 passes through every proxy; gRPC needs HTTP/2.
  const overHttp1 = { ...common, httpVersion: "1.1" as const, nodeOptions: { agent } };
  const transports = {
    connect: () => createConnectTransport({ ...overHttp1, useBinaryFormat: false }),
    "grpc-web": () => createGrpcWebTransport(overHttp1),
    grpc: () => createGrpcTransport({ ...common, sessionManager }),
  };
  return {
    url,
    headers,
    ca,
    agent,
    transport: (door) => transports[door](),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      sessionManager.abort();
    },
  };
}

function urlOf(config: Config, { url = localUrl(config) }: Target): string {
  if (URL.canParse(url) && /^https?:\/\//.test(url)) return url.replace(/\/+$/, "");
  throw new ConfigError(`--url must be an http or https URL, not ${url}`);
}

/** The token from a file or the settings; undefined without one. By default, the administrator's is never sent to another service. */
async function tokenOf(config: Config, { url, tokenFile }: Target): Promise<string | undefined> {
  if (tokenFile !== undefined) {
    const token = await readSecret(tokenFile);
    if (token && /^[!-~]+$/.test(token)) return token;
    throw new ConfigError(`--token-file ${tokenFile} ${token === undefined ? "cannot be read" : "holds no token"}`);
  }
  if (config.adminToken) return config.adminToken;
  const isOurs = url === undefined || new URL(url).origin === new URL(localUrl(config)).origin;
  return isOurs ? await readSecret(join(config.dataDir, "admin-token")) : undefined;
}

/** The certificate authorities to trust in addition to Node's: from a file, or on this machine, the certificate in the settings. */
async function authorities({ tlsCertFile }: Config, { url, caFile }: Target): Promise<string | undefined> {
  const file = caFile ?? (url === undefined && tlsCertFile ? tlsCertFile : undefined);
  if (file === undefined) return undefined;
  return readFile(file, "utf8").catch((error: Error) => {
    throw new ConfigError(`${caFile ? "--ca-file" : "TLS_CERT_FILE"} ${file} cannot be read: ${error.message}`);
  });
}

const withHeaders =
  (headers: Readonly<Record<string, string>>): Interceptor =>
  (next) =>
  (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
