import type { ContextKey, ContextValues } from "@connectrpc/connect";

/**
 * The context values of a call, like those of `createContextValues`. A class, because that function creates three others for every call.
 */
export class CallValues implements ContextValues {
  readonly [id: symbol]: unknown;

  get<T>({ id, defaultValue }: ContextKey<T>): T {
    const value = this[id];
    return value === undefined && !(id in this) ? defaultValue : (value as T);
  }

  set<T>({ id }: ContextKey<T>, value: T): this {
    (this as Record<symbol, unknown>)[id] = value;
    return this;
  }

  delete({ id }: ContextKey<unknown>): this {
    delete (this as Record<symbol, unknown>)[id];
    return this;
  }
}
