/** Waits for an answer, but no longer than until the deadline of the call. */
export async function inTime<T>(work: Promise<T>, signal: AbortSignal, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => isLate(signal) && reject(late());
  if (signal.aborted) end();
  signal.addEventListener("abort", end);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** Passes on what comes, but nothing that comes after the deadline of the call. */
export async function* untilLate<T>(work: AsyncIterable<T>, signal: AbortSignal, late: () => Error): AsyncGenerator<T> {
  const source = work[Symbol.asyncIterator]();
  const next = () => inTime(source.next(), signal, late);
  try {
    for (let at = await next(); !at.done; at = await next()) yield at.value;
    if (isLate(signal)) throw late();
  } finally {
    // Not waited for: it ends no sooner than what it is doing now.
    source.return?.().catch(() => {});
  }
}

/** Whether a call ended because its time was over. */
export const isLate = ({ reason }: AbortSignal): boolean => reason instanceof Error && reason.name === "TimeoutError";
