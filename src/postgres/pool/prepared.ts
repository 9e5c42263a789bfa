import type { Admit, Statement } from "./statement.ts";

type Settle = (settled: unknown) => void;

/**
 * A prepared statement of one text, with texts as its parameters: a shared read or write. It stands where the driver's own statement
 * would, with the fields that a connection reads and writes. The driver's is a promise of a class of its own, and its whole text is
 * the key among the statements that a connection has prepared, hashed and compared for each call.
 */
export class PreparedStatement implements Statement, PromiseLike<unknown> {
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

/** The key of a text in this process; the texts are those of the program. */
function keyOf(text: string): string {
  const known = keys.get(text);
  if (known !== undefined) return known;
  const key = `prepared ${keys.size}`;
  keys.set(text, key);
  return key;
}

function ignore() {}
