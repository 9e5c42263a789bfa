import { Code } from "@connectrpc/connect";
import { exitCodes } from "./command.ts";

/** The exit code for an error. */
export function exitCodeOf(code: Code): number {
  return exitCodes[classes[code] ?? "service"];
}

const classes: Readonly<Record<Code, keyof typeof exitCodes>> = {
  [Code.InvalidArgument]: "request",
  [Code.OutOfRange]: "request",
  [Code.Unauthenticated]: "caller",
  [Code.PermissionDenied]: "caller",
  [Code.NotFound]: "missing",
  [Code.AlreadyExists]: "state",
  [Code.FailedPrecondition]: "state",
  [Code.Aborted]: "state",
  [Code.Unavailable]: "later",
  [Code.ResourceExhausted]: "later",
  [Code.DeadlineExceeded]: "later",
  [Code.Canceled]: "later",
  [Code.Internal]: "service",
  [Code.Unknown]: "service",
  [Code.DataLoss]: "service",
  [Code.Unimplemented]: "service",
};
