/** An invalid command line, explained in one sentence. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
