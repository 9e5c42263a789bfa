import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** A question about a draft; `about` is the draft, as JSON can carry it. */
export type LiveQuestion<T> = {
  readonly about: unknown;
  readonly ask: (signal: AbortSignal) => Promise<T>;
};

/** An answer of the server, and whether it is about the current draft. */
export type LiveAnswer<T> = { readonly value: T; readonly isOfNow: boolean };

/** The latest answer about a draft, which is asked for whenever the writer pauses. A malformed draft has no answer. */
export function useLive<T>(question: LiveQuestion<T> | undefined): LiveAnswer<T> | undefined {
  const latest = useSignal<{ readonly text: string; readonly value: T } | undefined>(undefined);
  const text = question && JSON.stringify(question.about);
  useEffect(() => {
    if (!question || text === undefined) {
      latest.value = undefined;
      return undefined;
    }
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      question.ask(leaving.signal).then(
        (value) => {
          latest.value = { text, value };
        },
        // A malformed draft is reported when it is sent.
        () => {},
      );
    }, 300);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text]);
  return latest.value && { value: latest.value.value, isOfNow: latest.value.text === text };
}
