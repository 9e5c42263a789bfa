/** The process cannot start, for a reason that one sentence explains to the operator. */
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
// Appendix A of the PostgreSQL manual: connection exceptions, insufficient resources, and system errors such as a failed disk read.
// Corrupted data (XX001, XX002) and internal errors (XX000) are not among them, because retrying does not help.
const unavailableClasses = /^(08|53|58)/;
const unavailableStates = new Set([
  // The database is shutting down or starting, was dropped, or ended an idle session.
  ...["57P01", "57P02", "57P03", "57P04", "57P05"],
  // The role or its password is refused, or the database does not exist: while a password is being changed, or a backup restored.
  ...["28000", "28P01", "3D000"],
  // A standby, or a database made read-only; or a transaction that another program left open in a shared session.
  ...["25006", "25P02", "25P03"],
  // Cancelled because of a conflict with replay on a standby, a deadlock, or a lock timeout.
  ...["40001", "40P01", "55P03"],
]);
// For sockets, these codes concern the path; in other calls, they concern files.
const socketCodes = new Set(["ENOENT", "EACCES", "EAGAIN"]);

/** The unique constraint or index that a write violated. */
export function unique(error: unknown): string | undefined {
  return codeOf(error) === "23505" ? constraintOf(error) : undefined;
}

/** The foreign key that a write violated. */
export function foreignKey(error: unknown): string | undefined {
  return codeOf(error) === "23503" ? constraintOf(error) : undefined;
}

/** Whether the statement ended because of a conflict, a deadlock or a lock timeout, so that it had no effect and can be retried. */
export function isLockLost(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01" || code === "55P03";
}

/** Whether the statement ended because it had waited for a lock as long as it may, so that it had no effect. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

/** Whether the server ended the statement or its transaction for running too long, so that it had no effect. */
export function isStatementTimeout(error: unknown): boolean {
  const code = codeOf(error);
  return code === "57014" || code === "25P04";
}

/** Whether the server lacked memory or temporary space, or could not read a file, for this statement: others may succeed meanwhile. */
export function isShortOfResources(error: unknown): boolean {
  return /^(53200|53400|58...)$/.test(codeOf(error) ?? "");
}

/** Whether the database is unreachable or unable to serve at the moment, so that retrying may succeed. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error) ?? "";
  if (isMarked(error, unsent)) return true;
  if (socketCodes.has(code)) return stringOf(error, "syscall") === "connect";
  return isLost(code) || unreachedCodes.has(code) || isServerState(code);
}

/** Whether a server responded with an error code of Appendix A of the PostgreSQL manual. */
export function isRefusedByServer(error: unknown): boolean {
  // EPIPE has no digit.
  return /^(?=.*\d)[0-9A-Z]{5}$/.test(codeOf(error) ?? "");
}

/** Whether a server refused values of a statement, so that it would refuse the same ones again. */
export function isRefusedForValues(error: unknown): boolean {
  // Data exceptions, violated constraints, and values too large, such as for an index.
  return /^(22|23|54)...$/.test(codeOf(error) ?? "");
}

/** Whether the peer does not accept what it was sent, such as PgBouncer a setting in the startup message. */
export function isProtocolRefusal(error: unknown): boolean {
  return codeOf(error) === "08P01";
}

/** Whether the server has no connection slots left. */
export function isConnectionsExhausted(error: unknown): boolean {
  return codeOf(error) === "53300";
}

/** Whether a server did not respond in time. */
export function isTooLate(error: unknown): boolean {
  const code = codeOf(error);
  return code === "CONNECT_TIMEOUT" || code === "CONNECTION_SILENT" || code === "ETIMEDOUT";
}

/** Whether the database's disk was full, so that nothing was done. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === "53100";
}

/** Whether the database refused a write because it is read-only, so that nothing was done. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === "25006";
}

/** Whether the connection is in a state from which only a new connection recovers. */
export function isSpoiled(error: unknown): boolean {
  const severity = stringOf(error, "severity");
  return severity === "FATAL" || severity === "PANIC" || /^(08|57P|25P)/.test(codeOf(error) ?? "");
}

/** Whether the connection died after the statement was sent, so that a write may or may not have happened. */
export function isOutcomeUnknown(error: unknown): boolean {
  // A server that cannot write its WAL ends with PANIC, but the WAL may already contain the commit record.
  return isMarked(error, sent) && (isLost(codeOf(error) ?? "") || stringOf(error, "severity") === "PANIC");
}

/** Marks the failure of a statement that had been handed to a connection. */
export function markSent(error: unknown): void {
  mark(error, sent);
}

/** Marks a failure while opening a connection, so that nothing was done. */
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

// 57P01, 57P02 and 57P04 can arrive between the commit and its response; 08007 and 40003 mean that the outcome is unknown.
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
