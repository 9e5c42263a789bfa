import type { Fixture } from "../fixture/organization.ts";
import type { Client, Postern } from "../harness.ts";
import { fieldsOf } from "../wire/http.ts";
import { requestHttp2 } from "../wire/http2.ts";
import { readStatusJson } from "../wire/refusal.ts";

/** The HTTP status and the error body of a refusal, in one form for every protocol. */
export type Seen = { readonly status: number; readonly body: unknown };

/** The server and the clients of a provocation. */
export type Scene = {
  readonly postern: Postern;
  readonly fixture: Fixture;
  /** The administrator, who prepares. */
  readonly admin: Client;
  /** The administrator again, asking for answers in German. */
  readonly german: Client;
  /** Somebody else who asks for answers in German; nobody without a token. */
  readonly germanAs: (token?: string) => Client;
};

/** The details of a refusal beside its ErrorInfo and its text in German. */
export type Detail = "BadRequest" | "ResourceInfo" | "RetryInfo";

/** A call that provokes a reason over the wire, and the details of the refusal. */
export type Row = {
  readonly by: (scene: Scene) => Promise<Seen>;
  readonly details?: readonly Detail[];
  /** The HTTP status, where it is not the one of the code. */
  readonly status?: number;
  /** Only the log can tell: nobody is left to be answered. */
  readonly logged?: true;
};

/** A client that asks for answers in German. */
export function germanOf({ call: ask, token }: Client): Client {
  const call: Client["call"] = (method, path, body, headers) =>
    ask(method, path, body, { "accept-language": "de", ...headers });
  return {
    ...{ token, call },
    get: (path, headers) => call("GET", path, undefined, headers),
    post: (path, body = {}, headers = {}) => call("POST", path, body, headers),
    put: (path, body = {}, headers = {}) => call("PUT", path, body, headers),
    delete: (path, headers) => call("DELETE", path, undefined, headers),
  };
}

/** Makes a gRPC call with these bytes as its body, in German. */
export async function grpc(url: string, path: string, { token = "", body = Buffer.alloc(0) } = {}): Promise<Seen> {
  const authorization = token && { authorization: `Bearer ${token}` };
  const grpc = { ":path": path, "content-type": "application/grpc", te: "trailers", "accept-language": "de" };
  const response = await requestHttp2(url, { ...grpc, ...authorization }, body);
  return { status: response.status, body: readStatusJson(fieldsOf(response)) };
}

/** A name that nothing else has. */
export const fresh = (what: string) => `${what}-${crypto.randomUUID().slice(0, 12)}`;
