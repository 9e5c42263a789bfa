import type { Socket } from "node:net";

// Everything private to postgres.js 3.4.9 that we read, replace or imitate. package.json pins its version, and
// test/postgres/pool/driver.test.ts names each field: an upgrade has to change both.

/** A statement that is sent. Its other properties are private to the driver: the functions of this file read and replace them. */
export type Statement = { readonly executed: boolean };

type SentStatement = Statement & {
  readonly strings: readonly string[];
  readonly state: unknown;
  resolve: (rows: unknown) => void;
  reject: (error: unknown) => void;
  args: readonly unknown[];
  parameters: readonly unknown[];
};

/** The properties of a postgres.js statement; a fragment is one that is never awaited. */
type DriverStatement = SentStatement & {
  then: Promise<unknown>["then"];
  catch: Promise<unknown>["catch"];
  finally: Promise<unknown>["finally"];
  readonly execute: () => void;
  handler: (statement: Statement) => void;
  cursor: () => never;
};

/** Called when a statement is awaited, to assign it to a connection. */
export type Admit = (statement: Statement) => void;

/** Sends a statement that any client made over the connections of this one. */
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
  /** The error to reject with if a response cannot be trusted. */
  distrusted: () => Error | undefined;
}>;

/** The text of a statement, with `$` for each parameter. */
export const textOf = (statement: Statement): string => (statement as SentStatement).strings.join("$");

/** Whether a connection has sent a statement. */
export const isSent = (statement: Statement): boolean => (statement as SentStatement).state !== null;

/** Rejects a statement that no connection sends. */
export const failUnsent = (statement: Statement, error: unknown): void => (statement as SentStatement).reject(error);

/** Follows a statement to its end. */
export function onEnd(sent: Statement, { ended, again, distrusted }: Course): void {
  const statement = sent as SentStatement;
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
function isStatement(made: unknown): made is DriverStatement {
  return made instanceof Promise && "handler" in made;
}

/** Holds a statement back: postgres.js hands it to its handler when it is first awaited. */
function admitted(statement: DriverStatement, admit: Admit): DriverStatement {
  statement.handler = admit;
  statement.cursor = noCursor;
  const then: DriverStatement["then"] = (taken, refused) => awaited(statement).then(taken, refused);
  return Object.assign(statement, { then, catch: Promise.prototype.catch, finally: Promise.prototype.finally });
}

/**
 * The driver's own promise never settles. Its constructor assigns functions to properties, which V8 pretenures; until the next full
 * collection they would retain the rows, and everything that waited for them: a fifth of the cost of a statement.
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

// These properties would keep memory alive after the statement's end.
const spent = { resolve: ignore, reject: ignore, args: [], parameters: [] };

/** The server's process for a statement that was sent, and the secret that cancels it. */
export type ServerKey = { readonly pid?: number | null; readonly secret?: number | null };

/** Reads the key of the server's process that a connection stored in its statement; empty before there is one. */
export const serverKeyOf = (statement: Statement | undefined): ServerKey =>
  ((statement as SentStatement | undefined)?.state ?? {}) as ServerKey;

/** Notes the server's name on its socket, where the driver looks for the name that the certificate must have. */
export const nameServer = (socket: Socket, server: { readonly host: string; readonly port: number }): Socket =>
  Object.assign(socket, server);

type Ask = (...given: never[]) => unknown;

/** Wraps a client so that its statements are held back until they are admitted. */
export function heldBack<C extends Ask & { readonly unsafe: Ask }>(client: C, admit: Admit): C {
  const intercept = (made: unknown) => (isStatement(made) ? admitted(made, admit) : made);
  const unsafe = (...given: never[]) => {
    const [text, args, options] = given as readonly unknown[] as readonly [string, unknown?, { prepare?: boolean }?];
    if (options?.prepare && areTexts(args)) return new PreparedStatement(text, args, admit);
    return intercept(Reflect.apply(client.unsafe, client, given));
  };
  return new Proxy(client, {
    apply: (target, self, args) => intercept(Reflect.apply(target, self, args)),
    get: (target, key) => (key === "unsafe" ? unsafe : Reflect.get(target, key)),
  });
}

const areTexts = (args: unknown): args is readonly string[] =>
  Array.isArray(args) && args.length > 0 && args.every((one) => typeof one === "string");

type Settle = (settled: unknown) => void;

/**
 * A prepared statement of one text, with texts as its parameters: a shared read or write. It takes the place of the driver's own statement,
 * with the fields that a connection reads and writes. The driver's is a promise of a class of its own, and its whole text is the key among
 * the prepared statements of a connection, hashed and compared for each call.
 */
class PreparedStatement implements SentStatement, PromiseLike<unknown> {
  readonly strings: readonly string[];
  readonly options = prepared;
  readonly tagged = false;
  readonly origin = "";
  readonly #key: string;
  readonly #admit: Admit;
  executed = false;
  args: readonly unknown[];
  // The connection writes these; all are here from the beginning, so that all statements have one shape.
  parameters: readonly unknown[];
  state: unknown = null;
  statement: unknown = null;
  isRaw: false | "values" = false;
  active = false;
  cancelled: unknown = null;
  string = "";
  prepare = true;
  prepared = false;
  describeFirst = false;
  parsing = false;
  retried: unknown = undefined;
  resolve: Settle = ignore;
  reject: Settle = ignore;

  constructor(text: string, args: readonly string[], admit: Admit) {
    this.strings = [text];
    this.args = args;
    this.parameters = [...args];
    this.#key = keyOf(text);
    this.#admit = admit;
  }

  /** The key of the text; a connection writes the text itself here. */
  get signature(): string {
    return this.#key;
  }

  set signature(_text: string) {}

  /** Asks for tuples instead of objects. */
  values(): this {
    this.isRaw = "values";
    return this;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is awaited like the statements of the driver
  then<A, B>(
    taken?: ((rows: unknown) => A | PromiseLike<A>) | null,
    refused?: ((error: unknown) => B | PromiseLike<B>) | null,
  ) {
    return this.#sent().then(taken, refused);
  }

  #sent(): Promise<unknown> {
    if (this.executed) return Promise.reject(new Error("a statement is awaited once"));
    this.executed = true;
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.#admit(this);
    });
  }
}

const prepared = { prepare: true, simple: false };

const keys = new Map<string, string>();

/** The key of a text in this process; the program has a fixed number of texts. */
function keyOf(text: string): string {
  const known = keys.get(text);
  if (known !== undefined) return known;
  const key = `prepared ${keys.size}`;
  keys.set(text, key);
  return key;
}

function ignore() {}
