/** Asks at most once in a while, however many want to know: whoever asks is not signed in. */
export function seldom<T>(ask: () => Promise<T>, freshMs: number): () => Promise<T> {
  let last: { readonly answer: Promise<T>; until: number } | undefined;
  return () => {
    if (last && performance.now() < last.until) return last.answer;
    const asked = { answer: ask(), until: Infinity };
    const settled = () => {
      asked.until = performance.now() + freshMs;
    };
    asked.answer.then(settled, settled);
    last = asked;
    return asked.answer;
  };
}
