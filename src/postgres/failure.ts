/** The process cannot start, for a reason told in one sentence for the operator. */
export class StartError extends Error {
  override readonly name = "StartError";
}

const sent = Symbol("sent");
const unsent = Symbol("unsent");
const lostCodes = new Set([
  ...["CONNECTION_CLOSED", "CONNECTION_DESTROYED", "CONNECTION_SILENT", "CANCELED_LATE", "ECONNRESET", "EPIPE"],
]);
const unreachedCodes = new Set([
  ...["CONNECTION_ENDED", "CONNECT_TIMEOUT", "ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
  ...["EHOSTDOWN", "ENETDOWN", "ENOTFOUND", "EAI_AGAIN", "ECONNABORTED", "NO_FITTING_SERVER"],
]);
// Appendix A of the PostgreSQL manual: connection exceptions, insufficient resources, system errors such as a failed read of
// a disk. Corrupted data (XX001, XX002) and faults of the server (XX000) are not among them: no later try mends them.
const unavailableClasses = /^(08|53|58)/;
const unavailableStates = new Set([
  // The database is shut down, starts, was dropped, or ended an idle session.
  ...["57P01", "57P02", "57P03", "57P04", "57P05"],
  // The role or its password is refused, or the database is not there: a password that changes, a restore.
  ...["28000", "28P01", "3D000"],
  // A standby, or a database made read-only; a transaction that another program left behind in a shared session.
  ...["25006", "25P02", "25P03"],
  // Chosen to end a conflict with the replay on a standby, a deadlock, or a wait for a lock.
  ...["40001", "40P01", "55P03"],
]);
// These codes concern the path of a socket; from other calls they concern files.
const socketCodes = new Set(["ENOENT", "EACCES", "EAGAIN"]);

/** Returns the unique constraint or index that a write broke. */
export function unique(error: unknown): string | undefined {
  return codeOf(error) === "23505" ? constraintOf(error) : undefined;
}

/** Returns the foreign key that a write broke. */
export function foreignKey(error: unknown): string | undefined {
  return codeOf(error) === "23503" ? constraintOf(error) : undefined;
}

/** Whether the statement ended for a conflict, a deadlock or a wait for a lock; it had no effect and may be tried again. */
export function isLockLost(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01" || code === "55P03";
}

/** Whether the server ended the statement, or its transaction, for running too long; it had no effect. */
export function isStatementTimeout(error: unknown): boolean {
  const code = codeOf(error);
  return code === "57014" || code === "25P04";
}

/** Whether the database cannot be reached or cannot serve now; a later try may succeed. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  if (isMarked(error, unsent)) return true;
  if (socketCodes.has(code)) return stringOf(error, "syscall") === "connect";
  return isLost(code) || unreachedCodes.has(code) || isServerState(code);
}

/** A server answered with a refusal, by a code of Appendix A of the PostgreSQL manual. */
export function isRefusedByServer(error: unknown): boolean {
  // EPIPE has no digit.
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(codeOf(error) ?? "");
}

/** The peer does not take what it was sent, such as PgBouncer a setting in the startup message. */
export function isProtocolRefusal(error: unknown): boolean {
  return codeOf(error) === "08P01";
}

/** Whether the server has no room for one more connection. */
export function isConnectionsExhausted(error: unknown): boolean {
  return codeOf(error) === "53300";
}

/** Whether a server let the time pass in which it should have answered. */
export function isTooLate(error: unknown): boolean {
  const code = codeOf(error);
  return code === "CONNECT_TIMEOUT" || code === "CONNECTION_SILENT" || code === "ETIMEDOUT";
}

/** Whether the database had no room on its disk; nothing was done. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === "53100";
}

/** Whether the database refused a write because it is read-only; nothing was done. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

/** Whether the connection is in a state that only a new one heals. */
export function isSpoiled(error: unknown): boolean {
  const severity = stringOf(error, "severity");
  return severity === "FATAL" || severity === "PANIC" || /^(08|57P|25P)/.test(codeOf(error) ?? "");
}

/** Whether the connection died after the statement went out, so that a write may or may not have happened. */
export function isOutcomeUnknown(error: unknown): boolean {
  // A server that cannot write its log ends by PANIC; the record of the commit may be in the log all the same.
  return isMarked(error, sent) && (isLost(codeOf(error) ?? "") || stringOf(error, "severity") === "PANIC");
}

/** Marks the failure of a statement that had been given to a connection. */
export function markSent(error: unknown): void {
  mark(error, sent);
}

/** Marks a failure during the opening of a connection, so that nothing was done. */
export function markUnsent(error: unknown): void {
  mark(error, unsent);
}

function mark(error: unknown, as: symbol): void {
  if (typeof error === "object" && error !== null) Object.defineProperty(error, as, { value: true });
}

function isMarked(error: unknown, as: symbol): boolean {
  return typeof error === "object" && error !== null && as in error;
}

function isServerState(code: string): boolean {
  return code.length === 5 && (unavailableClasses.test(code) || unavailableStates.has(code));
}

// 57P01, 57P02 and 57P04 can arrive after the commit and before its answer; 08007 and 40003 say that it is not known.
const lostStates = new Set(["57P01", "57P02", "57P04", "57P05", "08006", "08007", "40003"]);

function isLost(code: string): boolean {
  return lostCodes.has(code) || lostStates.has(code);
}

function codeOf(error: unknown): string | undefined {
  return stringOf(error, "code");
}

function constraintOf(error: unknown): string | undefined {
  return stringOf(error, "constraint_name");
}

function stringOf(error: unknown, field: "code" | "constraint_name" | "severity" | "syscall"): string | undefined {
  const value: unknown = typeof error === "object" && error !== null ? Reflect.get(error, field) : undefined;
  return typeof value === "string" ? value : undefined;
}
