/** The headers of a response that say when to come back. */
export type RetryHeaders = {
  readonly retryAfter?: string | null | undefined;
  readonly date?: string | null | undefined;
};

const seconds = /^\d{1,9}$/;
const date = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * Reads for how many seconds a response asks to be left alone (RFC 9110, 10.2.3); 0 if it does not. A date is compared with that of the
 * response, so that the clock of whoever sent it need not be right.
 */
export function retryAfterSeconds({ retryAfter, date: now }: RetryHeaders): number {
  const asked = retryAfter?.trim() ?? "";
  if (seconds.test(asked)) return Number(asked);
  if (!date.test(asked) || !date.test(now ?? "")) return 0;
  const wait = (Date.parse(asked) - Date.parse(now ?? "")) / 1000;
  return wait > 0 ? wait : 0;
}
