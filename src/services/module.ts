import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { contract } from "../contract/services.ts";

type Contract = typeof contract;

/** The services that a module takes part in, each with the function that makes its handlers from parts `P` and settings `S`. */
export type Serves<P, S> = {
  readonly [N in keyof Contract]?: (parts: P, settings: S) => Partial<ServiceImpl<Contract[N]>>;
};

/** True if the modules `M` together handle each rpc of the contract `C` once, and otherwise an object whose keys say what is wrong. */
export type HandlesEachRpc<C, M extends readonly unknown[]> = [Faults<C, M>] extends [never]
  ? true
  : { readonly [F in Faults<C, M>]: never };

type Faults<C, M extends readonly unknown[]> =
  | `${Exclude<Rpcs<C>, Handled<PartsOf<M[number]>>>} has no handler`
  | `${Uncertain<PartsOf<M[number]>>} may have no handler`
  | `${{ [I in keyof M]: Extract<Handled<PartsOf<M[I]>>, HandledElsewhere<M, I>> }[number]} has two handlers`
  | `${Exclude<Handled<PartsOf<M[number]>>, Rpcs<C>>} is no rpc`;

/** The rpcs of a contract, such as "UserService.getUser". */
type Rpcs<C> = {
  [N in keyof C & string]: C[N] extends Pick<DescService, "method"> ? `${N}.${keyof C[N]["method"] & string}` : never;
}[keyof C & string];

type Part<N, H> = { readonly name: N; readonly handlers: H };

/** What a module contributes to services. */
type PartsOf<M> = M extends { readonly serves: infer S }
  ? { [N in keyof S]: S[N] extends (...args: never) => infer H ? Part<N, H> : never }[keyof S]
  : never;

type Handled<P> = P extends Part<infer N extends string, infer H> ? `${N}.${keyof H & string}` : never;

type HandledElsewhere<M extends readonly unknown[], I> = {
  [J in keyof M]: J extends I ? never : Handled<PartsOf<M[J]>>;
}[number];

/** The rpcs whose handlers are optional, so that nobody knows whether there is one. */
type Uncertain<P> = P extends Part<infer N extends string, infer H> ? `${N}.${OptionalKeys<H> & string}` : never;

type OptionalKeys<H> = { [K in keyof H]-?: undefined extends H[K] ? K : never }[keyof H];

/** The keys of every part but the one at `I`. */
type Elsewhere<P extends readonly object[], I> = { [J in keyof P]: J extends I ? never : keyof P[J] }[number];

/** Parts that have no key in common. */
type Apart<P extends readonly object[]> = { [I in keyof P]: P[I] & Record<keyof P[I] & Elsewhere<P, I>, never> };

type Joined<P> = P extends readonly [infer First, ...infer Rest] ? First & Joined<Rest> : unknown;

/** Joins a module's handlers of one service; the compiler rejects an rpc that two of them implement, which a spread would let pass. */
export const handlers = <P extends readonly object[]>(...parts: Apart<P>): Joined<P> =>
  Object.assign({}, ...parts) as Joined<P>;
