const nameSyntax = /^[!#$%&'*+.^_`|~\w-]+$/;
// Clients disagree about the meaning of bytes beyond ASCII: RFC 9110, 5.5.
const valueSyntax = /^[\t\x20-\x7e]*$/;

/** The fields of a request or response by lower-case name. */
export type Fields = Readonly<Record<string, string | undefined>>;

/**
 * Headers backed by a plain record, because Node's own class costs a third of the smallest call. A request's record is shared with its
 * exchange until a field is changed.
 */
export class HeaderFields implements Headers {
  #fields: Record<string, string | undefined>;
  #isShared: boolean;
  #cookies: string[] | undefined;

  constructor(fields?: Fields) {
    this.#fields = fields ?? Object.create(null);
    this.#isShared = fields !== undefined;
  }

  /** The record itself, without `set-cookie`, which cannot be joined. */
  get fields(): Fields {
    return this.#fields;
  }

  get(name: string): string | null {
    const value = this.#fields[name] ?? this.#fields[name.toLowerCase()];
    if (value !== undefined) return value;
    return this.#cookies && name.toLowerCase() === "set-cookie" ? this.#cookies.join(", ") : null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  set(name: string, value: string): void {
    const key = validName(name);
    const text = validValue(name, value);
    if (key === "set-cookie") this.#cookies = [text];
    else this.#own()[key] = text;
  }

  append(name: string, value: string): void {
    const key = validName(name);
    const text = validValue(name, value);
    if (key === "set-cookie") this.#cookies = [...(this.#cookies ?? []), text];
    else this.#own()[key] = this.#fields[key] === undefined ? text : `${this.#fields[key]}, ${text}`;
  }

  delete(name: string): void {
    const key = validName(name);
    if (key === "set-cookie") this.#cookies = undefined;
    else delete this.#own()[key];
  }

  getSetCookie(): string[] {
    return [...(this.#cookies ?? [])];
  }

  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArg?: unknown): void {
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  *entries(): Generator<[string, string], undefined, unknown> {
    for (const name of Object.keys(this.#fields).sort()) {
      const value = this.#fields[name];
      if (value !== undefined) yield [name, value];
    }
    for (const cookie of this.#cookies ?? []) yield ["set-cookie", cookie];
    return undefined;
  }

  *keys(): Generator<string, undefined, unknown> {
    for (const [name] of this.entries()) yield name;
    return undefined;
  }

  *values(): Generator<string, undefined, unknown> {
    for (const [, value] of this.entries()) yield value;
    return undefined;
  }

  [Symbol.iterator](): Generator<[string, string], undefined, unknown> {
    return this.entries();
  }

  #own(): Record<string, string | undefined> {
    if (this.#isShared) this.#fields = Object.assign(Object.create(null), this.#fields);
    this.#isShared = false;
    return this.#fields;
  }
}

function validName(name: string): string {
  if (!nameSyntax.test(name)) throw new TypeError("a header has an invalid name");
  return name.toLowerCase();
}

function validValue(name: string, value: string): string {
  const text = String(value).replace(/^[\t ]+|[\t ]+$/g, "");
  if (!valueSyntax.test(text)) throw new TypeError(`the header ${name} has a value that cannot be sent`);
  return text;
}
