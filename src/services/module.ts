import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, ServiceImpl } from "@connectrpc/connect";

/** A service of the contract with the function that makes its handlers, from parts `P` of the runtime and settings `S`. */
export type Serving<P, S> = {
  readonly service: DescService;
  readonly register: (router: ConnectRouter, parts: P, settings: S) => void;
};

/** Names the service that handlers implement; the compiler rejects handlers that leave out an rpc. */
export function serving<D extends DescService, P, S>(
  service: D,
  handlers: (parts: P, settings: S) => ServiceImpl<D>,
): Serving<P, S> {
  return { service, register: (router, parts, settings) => void router.service(service, handlers(parts, settings)) };
}

/** Joins handlers of one service; the compiler rejects an rpc that both implement. */
export const joined = <A extends object, B extends object>(
  one: A,
  other: B & Record<keyof A & keyof B, never>,
): A & B => ({
  ...one,
  ...other,
});
