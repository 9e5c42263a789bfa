/** Why a command lost a race before its statement began: another command wrote to streams that this one had read before. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
  readonly streams: readonly string[];

  constructor(streams: readonly string[]) {
    super("another command wrote to the same object first");
    this.streams = streams;
  }
}

/** The streams through which a command lost its race to another of this process; undefined for any other error. */
export const overtakenIn = (error: unknown): readonly string[] | undefined =>
  error instanceof Error && error.cause instanceof Overtaken ? error.cause.streams : undefined;
