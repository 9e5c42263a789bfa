import { constraintOf } from "../errors.ts";

/** Why a command lost a race before its statement began: another command of this process wrote to streams that this one had read before. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
  readonly streams: readonly string[];
  /** Whether the other command was written; it may have been overtaken itself, on another of its streams. */
  readonly isWritten: boolean;

  constructor(streams: readonly string[], isWritten: boolean) {
    super("another command wrote to the same object first");
    this.streams = streams;
    this.isWritten = isWritten;
  }
}

/** Whether a command of one fact failed because another fact is recorded in its place. */
export const isRecorded = (error: unknown): boolean =>
  constraintOf(error) === "events_pkey" && (causeOf(error)?.isWritten ?? true);

/** The streams through which a command lost its race to another of this process; undefined for any other error. */
export const overtakenIn = (error: unknown): readonly string[] | undefined => causeOf(error)?.streams;

const causeOf = (error: unknown): Overtaken | undefined =>
  error instanceof Error && error.cause instanceof Overtaken ? error.cause : undefined;
