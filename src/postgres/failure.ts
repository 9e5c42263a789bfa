/** Why the process cannot start, in one sentence for the operator. */
export class StartError extends Error {
  override readonly name = "StartError";
}

const sent = Symbol("sent");
const lostCodes = new Set(["CONNECTION_CLOSED", "CONNECTION_DESTROYED", "CONNECTION_SILENT", "ECONNRESET", "EPIPE"]);
const unreachedCodes = new Set([
  ...["CONNECTION_ENDED", "CONNECT_TIMEOUT", "ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
  ...["EHOSTDOWN", "ENETDOWN", "ENOTFOUND", "EAI_AGAIN", "ECONNABORTED"],
]);
// Of a socket's path; elsewhere they are about files.
const socketCodes = new Set(["ENOENT", "EACCES", "EAGAIN"]);

/** The unique constraint or index that a write broke. */
export function unique(error: unknown): string | undefined {
  return codeOf(error) === "23505" ? constraintOf(error) : undefined;
}

/** The foreign key that a write broke. */
export function foreignKey(error: unknown): string | undefined {
  return codeOf(error) === "23503" ? constraintOf(error) : undefined;
}

/** The statement was chosen to end a deadlock, or waited too long for a lock; it had no effect and may be tried again. */
export function isLockLost(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40P01" || code === "55P03";
}

/** The server ended the statement for running too long; it had no effect. */
export function isStatementTimeout(error: unknown): boolean {
  return codeOf(error) === "57014";
}

/** The database cannot be reached or cannot serve now; a later try may succeed. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  if (socketCodes.has(code)) return stringOf(error, "syscall") === "connect";
  return isLost(code) || unreachedCodes.has(code) || /^(08|53)...$/.test(code) || code === "57P03";
}

/** The connection died after the statement went out, so a write may or may not have happened. */
export function isOutcomeUnknown(error: unknown): boolean {
  return typeof error === "object" && error !== null && sent in error && isLost(codeOf(error) ?? "");
}

/** Notes on a failure that its statement had been given to a connection. */
export function markSent(error: unknown): void {
  if (typeof error === "object" && error !== null) Object.defineProperty(error, sent, { value: true });
}

// 57P01 and 57P02 can arrive after the commit and before its answer.
function isLost(code: string): boolean {
  return lostCodes.has(code) || code === "57P01" || code === "57P02" || code === "57P05" || code === "08006";
}

function codeOf(error: unknown): string | undefined {
  return stringOf(error, "code");
}

function constraintOf(error: unknown): string | undefined {
  return stringOf(error, "constraint_name");
}

function stringOf(error: unknown, field: "code" | "constraint_name" | "syscall"): string | undefined {
  const value: unknown = typeof error === "object" && error !== null ? Reflect.get(error, field) : undefined;
  return typeof value === "string" ? value : undefined;
}
