import { createGrpcTransport } from "@connectrpc/connect-node";
import { type Postern, posternOf } from "./client.ts";
import { type TokenProvider, withIdempotencyKeys, withRetries, withToken } from "./interceptors.ts";

/** The options of a connection. */
export type ConnectOptions = {
  /** The address of the service, such as `https://id.example.com`. */
  readonly url: string;
  /** The token of the caller; without it, only calls that need none work. */
  readonly token?: TokenProvider;
  /** The longest wait for a call, retries included; 30 seconds when absent. */
  readonly timeoutMs?: number;
};

/** Makes a client of each service over gRPC, for Node, with the token, idempotency keys and retries. */
export function connectPostern({ url, token, timeoutMs = 30_000 }: ConnectOptions): Postern {
  const interceptors = [...(token ? [withToken(token)] : []), withIdempotencyKeys(), withRetries()];
  return posternOf(createGrpcTransport({ baseUrl: url, defaultTimeoutMs: timeoutMs, interceptors }));
}
