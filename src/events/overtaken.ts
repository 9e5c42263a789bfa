import { constraintOf } from "../errors.ts";

/** Why a command lost a race before its statement began: another command wrote to streams that this one had read before. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
  readonly streams: readonly string[];

  constructor(streams: readonly string[]) {
    super("another command wrote to the same object first");
    this.streams = streams;
  }
}

/**
 * Whether somebody recorded the only fact of a command before, as the database found. A command that was overtaken before its statement may
 * have been so by one that fails in the end.
 */
export const isRecorded = (error: unknown): boolean => constraintOf(error) === "events_pkey" && !overtakenIn(error);

/** The streams through which a command lost its race to another of this process; undefined for any other error. */
export const overtakenIn = (error: unknown): readonly string[] | undefined =>
  error instanceof Error && error.cause instanceof Overtaken ? error.cause.streams : undefined;
