import type { Codec, RpcMethod } from "./rpc_method.ts";

/** A request for an rpc as JSON over HTTP. */
export type RestCall = {
  readonly rpc: RpcMethod;
  /** The codec for a body of this content type. */
  readonly codecFor: (contentType: string | undefined) => Codec;
};

/** The result of matching a method and a path. */
export type CallMatch =
  | { readonly kind: "call"; readonly call: RestCall }
  | { readonly kind: "malformed" }
  | { readonly kind: "wrong method"; readonly allow: string };

/** Finds calls by method, path and query; undefined for an unknown path. */
export type FindCall = (method: string, path: string, query: string) => CallMatch | undefined;
