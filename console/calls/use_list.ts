import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Answer, call, type Method, type Request } from "./client.ts";
import { organizationId } from "./organization.ts";
import { Refusal } from "./refusal.ts";

/** The methods that list in pages. */
export type ListMethod = {
  [M in Method]: Request<M> extends { pageToken?: string } ? M : never;
}[Method];

/** The rows of a list that have been read so far. */
export type Listing<Row> = {
  readonly rows: readonly Row[];
  readonly refusal: Refusal | undefined;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly more: () => Promise<void>;
  readonly reload: () => Promise<void>;
};

type State<Row> = { rows: readonly Row[]; refusal?: Refusal | undefined; isLoading: boolean; next: string };

const pageSize = 50;

/** Reads a list page by page, by the key of its last row; no page waits for a count. */
export function useList<M extends ListMethod, Row>(
  method: M,
  request: Request<M> | undefined,
  {
    rowsOf,
    size = pageSize,
  }: { readonly rowsOf: (answer: Answer<M>) => readonly Row[] | undefined; readonly size?: number },
): Listing<Row> {
  const state = useSignal<State<Row>>({ rows: [], isLoading: true, next: "" });
  const leaving = useRef(new AbortController());
  const organization = organizationId.value;

  const read = async (pageToken: string, before: readonly Row[]): Promise<void> => {
    if (!request) return;
    state.value = { ...state.peek(), isLoading: true };
    const { signal } = leaving.current;
    try {
      const answer = await call(
        method,
        { ...request, pageSize: size, pageToken },
        { organizationId: organization, signal },
      );
      const rows = [...before, ...(rowsOf(answer) ?? [])];
      const next = (answer as { nextPageToken?: string }).nextPageToken ?? "";
      state.value = { rows, isLoading: false, next };
      // A page may be empty although others follow.
      if (rows.length === before.length && next) await read(next, rows);
    } catch (error) {
      if (error instanceof Refusal) state.value = { ...state.peek(), refusal: error, isLoading: false };
      else if (!signal.aborted) throw error;
    }
  };

  useEffect(() => {
    leaving.current = new AbortController();
    state.value = { rows: [], isLoading: true, next: "" };
    void read("", []);
    return () => leaving.current.abort();
  }, [method, JSON.stringify(request), organization]);

  const { rows, refusal, isLoading, next } = state.value;
  const more = () => read(next, rows);
  return { rows, refusal, isLoading, hasMore: next !== "", more, reload: () => read("", []) };
}
