/** The properties of a statement that is sent. */
export type Statement = {
  readonly strings: readonly string[];
  readonly state: unknown;
  resolve: (rows: unknown) => void;
  reject: (error: unknown) => void;
  args: readonly unknown[];
  parameters: readonly unknown[];
};

/** The properties of a postgres.js statement; a fragment is one that is never awaited. */
type DriverStatement = Statement & {
  readonly executed: boolean;
  then: Promise<unknown>["then"];
  catch: Promise<unknown>["catch"];
  finally: Promise<unknown>["finally"];
  readonly execute: () => void;
  handler: (statement: Statement) => void;
  cursor: () => never;
};

/** Called when a statement is awaited, to give it to a connection. */
export type Admit = (statement: Statement) => void;

/** Gives a statement that any client made to the connections of this one. */
export function senderOf(client: (text: TemplateStringsArray) => unknown): (statement: Statement) => void {
  const made = client`select 1`;
  if (!isStatement(made)) throw new Error("the driver makes no statements");
  return made.handler;
}

/** Callbacks for the end of a statement. */
export type Course = Readonly<{
  /** Called once, after the statement's awaiters. */
  ended: (error?: unknown) => void;
  /** Whether the statement, which failed, is sent again instead of being rejected. */
  again: (error: unknown) => boolean;
  /** A failure to be rejected with, where an answer cannot be trusted. */
  distrusted: () => Error | undefined;
}>;

/** Follows a statement to its end. */
export function onEnd(statement: Statement, { ended, again, distrusted }: Course): void {
  const { resolve, reject } = statement;
  const over = (error?: unknown) => {
    Object.assign(statement, spent);
    ended(error);
  };
  const answered = (rows: unknown) => {
    const failure = distrusted();
    if (failure) reject(failure);
    else resolve(rows);
    over(failure);
  };
  const failed = (error: unknown) => {
    if (again(error)) return;
    reject(error);
    over(error);
  };
  statement.resolve = answered;
  statement.reject = failed;
}

/** Whether the driver made a statement or fragment, rather than a name or a list of values. */
export function isStatement(made: unknown): made is DriverStatement {
  return made instanceof Promise && "handler" in made;
}

/** Holds a statement back: postgres.js hands it to its handler when it is first awaited. */
export function admitted(statement: DriverStatement, admit: Admit): DriverStatement {
  statement.handler = admit;
  statement.cursor = noCursor;
  const then: DriverStatement["then"] = (taken, refused) => awaited(statement).then(taken, refused);
  return Object.assign(statement, { then, catch: Promise.prototype.catch, finally: Promise.prototype.finally });
}

/**
 * The driver's own promise never settles. Its constructor assigns functions to properties, which V8 pretenures; until the next
 * full collection they would keep the rows, and everything that waited for them: a fifth of the cost of a statement.
 */
async function awaited(statement: DriverStatement): Promise<unknown> {
  if (statement.executed) throw new Error("a statement is awaited once");
  const { promise, resolve, reject } = Promise.withResolvers();
  statement.resolve = resolve;
  statement.reject = reject;
  statement.execute();
  return promise;
}

// A cursor ends without notifying those who wait for its connection.
function noCursor(): never {
  throw new Error("a pool has no cursors: read page by page, by key");
}

function ignore() {}

// These properties would keep memory alive after the statement's end.
const spent = { resolve: ignore, reject: ignore, args: [], parameters: [] };
