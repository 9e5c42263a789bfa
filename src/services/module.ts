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
  make: (parts: P, settings: S) => ServiceImpl<D>,
): Serving<P, S> {
  return { service, register: (router, parts, settings) => void router.service(service, make(parts, settings)) };
}

/** The keys of every part but the one at `I`. */
type Elsewhere<P extends readonly object[], I> = { [J in keyof P]: J extends I ? never : keyof P[J] }[number];

/** Parts that have no key in common. */
type Apart<P extends readonly object[]> = { [I in keyof P]: P[I] & Record<keyof P[I] & Elsewhere<P, I>, never> };

type Joined<P> = P extends readonly [infer First, ...infer Rest] ? First & Joined<Rest> : unknown;

/** Joins handlers of one service; the compiler rejects an rpc that two of them implement, which a spread would let pass. */
export const handlers = <P extends readonly object[]>(...parts: Apart<P>): Joined<P> =>
  Object.assign({}, ...parts) as Joined<P>;
