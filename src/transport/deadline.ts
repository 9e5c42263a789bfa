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

const isLate = ({ reason }: AbortSignal) => reason instanceof Error && reason.name === "TimeoutError";
