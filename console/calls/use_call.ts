import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Answer, call, type Method, type Request } from "./client.ts";
import { organizationId } from "./organization.ts";
import { Refusal } from "./refusal.ts";

/** The data that a page has read, or is reading. */
export type Reading<T> = {
  readonly data: T | undefined;
  readonly refusal: Refusal | undefined;
  readonly isLoading: boolean;
  /** Reads again; the current data stays until then. */
  readonly reload: () => Promise<void>;
};

/** Reads data for as long as the component is shown, and again if the request changes. Without a request, it waits. */
export function useCall<M extends Method>(
  method: M,
  request: Request<M> | undefined,
  options: { readonly organizationId?: string | undefined } = {},
): Reading<Answer<M>> {
  const state = useSignal<{ data?: Answer<M>; refusal?: Refusal; isLoading: boolean }>({ isLoading: true });
  const organization = options.organizationId ?? organizationId.value;
  const body = JSON.stringify(request);
  useEffect(() => {
    const leaving = new AbortController();
    if (request)
      void read(state, () => call(method, request, { organizationId: organization, signal: leaving.signal }));
    return () => leaving.abort();
  }, [method, body, organization]);
  const reload = () =>
    request ? read(state, () => call(method, request, { organizationId: organization })) : Promise.resolve();
  const { data, refusal, isLoading } = state.value;
  return { data, refusal, isLoading, reload };
}

async function read<T>(
  state: Signal<{ data?: T; refusal?: Refusal; isLoading: boolean }>,
  ask: () => Promise<T>,
): Promise<void> {
  state.value = { ...state.peek(), isLoading: true };
  try {
    state.value = { data: await ask(), isLoading: false };
  } catch (error) {
    if (error instanceof Refusal) state.value = { refusal: error, isLoading: false };
    else if (!(error instanceof DOMException)) throw error;
  }
}
