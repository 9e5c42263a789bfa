let [second, date] = [0, ""];

/** The value of the `date` header: RFC 9110, 6.6.1. */
export function httpDate(): string {
  const at = Math.floor(Date.now() / 1000);
  if (at !== second) [second, date] = [at, new Date(at * 1000).toUTCString()];
  return date;
}
