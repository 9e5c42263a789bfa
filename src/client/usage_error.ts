/** A command line that cannot be read, in one sentence. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
