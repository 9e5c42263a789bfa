import { Code, ConnectError } from "@connectrpc/connect";
import { reasonOf, refuse } from "../errors.ts";

/** The log level of a refusal. */
export type RefusalLevel = "info" | "warn" | "error";

/** The error that a client gets; our own errors are passed on unchanged. */
export function refusalOf(error: unknown, signal: AbortSignal): ConnectError {
  if (error instanceof ConnectError && reasonOf(error)) return error;
  const ended = isEnd(error, signal);
  const late = ended ? isLate(signal.reason) : hasCode(error, Code.DeadlineExceeded);
  if (late) return refuse.because("DEADLINE_EXCEEDED", { cause: error });
  if (ended || hasCode(error, Code.Canceled)) return refuse.because("CANCELLED", { cause: error });
  return refuse.because("INTERNAL", { cause: error });
}

/** Whether an error only reports that the request was ended from outside. */
export function isEnd(error: unknown, signal: AbortSignal): boolean {
  const names = ["AbortError", "TimeoutError"];
  return signal.aborted && (error === signal.reason || (error instanceof Error && names.includes(error.name)));
}

/** The codes of calls ended from outside. */
export const endCodes: readonly Code[] = [Code.Canceled, Code.DeadlineExceeded];

const isLate = (reason: unknown) =>
  hasCode(reason, Code.DeadlineExceeded) || (reason instanceof Error && reason.name === "TimeoutError");

const hasCode = (error: unknown, code: Code) => error instanceof ConnectError && error.code === code;

/** The log level of a refusal: our own faults are errors, and temporary problems are warnings. */
export function levelOf(refusal: ConnectError): RefusalLevel {
  const reason = reasonOf(refusal);
  if (reason === "INTERNAL") return "error";
  return refusal.code === Code.Unavailable || reason === "OUTCOME_UNKNOWN" ? "warn" : "info";
}

/**
 * Describes the cause of a refusal for the log, within limits. Properties are listed explicitly, because others of a database error contain
 * parameters and whole rows.
 */
export function causeOf(error: unknown, level: RefusalLevel): object {
  return level === "info" ? quoteOf(error) : chainOf(error);
}

function chainOf(error: unknown): object {
  if (!(error instanceof Error)) return { message: cut(String(error), maxMessage) };
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  const cause = error.cause === undefined ? {} : { cause: chainOf(error.cause) };
  return { type: error.name, message: cut(error.message, maxMessage), stack: stackOf(error), ...code, ...cause };
}

// The cause of a refusal that is not our fault: its message quotes the request, and its stack adds nothing.
function quoteOf(error: unknown): object {
  const { name, message } = error instanceof Error ? error : { name: typeof error, message: String(error) };
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  return { type: name, message: cut(message, maxQuoted), ...code };
}

const maxQuoted = 200;
const maxMessage = 2_000;
const maxStack = 4_000;

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);

// A stack begins with the message.
function stackOf({ stack, message }: Error): string | undefined {
  return stack === undefined
    ? undefined
    : cut(
        stack.replace(message, () => cut(message, maxMessage)),
        maxStack,
      );
}
