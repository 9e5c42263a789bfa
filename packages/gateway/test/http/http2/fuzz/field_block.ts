/** Draws a whole number below a bound. */
export type Draw = (bound: number) => number;

/** One of several. */
export function oneOf<T>(draw: Draw, all: readonly [T, ...T[]]): T {
  return all[draw(all.length)] ?? all[0];
}

/** Whether something happens that does so once in `times`. */
export const once = (draw: Draw, times: number): boolean => draw(times) === 0;

/** Random bytes. */
export const noise = (draw: Draw, length: number): Buffer => Buffer.from(Array.from({ length }, () => draw(256)));

type Field = readonly [name: string, value: string];

// Strings in the code of Huffman: RFC 7541, appendix C.
const huffman: Readonly<Record<string, string>> = {
  "www.example.com": "f1e3c2e5f23a6ba0ab90f4ff",
  "no-cache": "a8eb10649cbf",
  "custom-key": "25a849e95ba97d7f",
  "custom-value": "25a849e95bb8e8b4bf",
  private: "aec3771a4b",
};

// RFC 7541, appendix A: as many as requests have a use for.
const indexed: readonly (readonly [index: number, field: Field])[] = [
  [2, [":method", "GET"]],
  [3, [":method", "POST"]],
  [4, [":path", "/"]],
  [6, [":scheme", "http"]],
  [7, [":scheme", "https"]],
];
const named: Readonly<Record<string, number>> = { ":authority": 1, ":method": 2, ":path": 4, ":scheme": 6, cookie: 32 };

const tableBytes = 4096;

/** Encodes field blocks in all ways that RFC 7541 knows, and in some that it does not. */
export class BlockEncoder {
  readonly #draw: Draw;
  #table: Field[] = [];

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  encode(fields: readonly Field[]): Buffer {
    const draw = this.#draw;
    const updates = once(draw, 12) ? Array.from({ length: 1 + draw(2) }, () => this.#sizeUpdate()) : [];
    return Buffer.concat([...updates, ...fields.map((field) => this.#field(field))]);
  }

  // All entries go: the entries that a smaller size leaves depend on their order.
  #sizeUpdate(): Buffer {
    this.#table = [];
    return Buffer.concat([integer(0x20, 5, 0), integer(0x20, 5, tableBytes)]);
  }

  #field([name, value]: Field): Buffer {
    const draw = this.#draw;
    const at = this.#table.findIndex((field) => field[0] === name && field[1] === value);
    if (at >= 0 && !once(draw, 3)) return integer(0x80, 7, 62 + at);
    const known = indexed.find(([, field]) => field[0] === name && field[1] === value);
    if (known && !once(draw, 3)) return integer(0x80, 7, known[0]);
    const entry = this.#table.findIndex((field) => field[0] === name);
    const index = once(draw, 3) ? 0 : (named[name] ?? (entry >= 0 ? 62 + entry : 0));
    const [prefix, bits] = oneOf<readonly [number, number]>(draw, [
      [0x40, 6],
      [0, 4],
      [0x10, 4],
    ]);
    if (prefix === 0x40) this.#insert([name, value]);
    const literals = index === 0 ? [this.#text(name), this.#text(value)] : [this.#text(value)];
    return Buffer.concat([integer(prefix, bits, index), ...literals]);
  }

  #insert(field: Field): void {
    this.#table.unshift(field);
    const sizeOf = (fields: readonly Field[]) =>
      fields.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
    while (sizeOf(this.#table) > tableBytes) this.#table.pop();
  }

  #text(text: string): Buffer {
    const code = huffman[text];
    if (code !== undefined && once(this.#draw, 2)) return string(Buffer.from(code, "hex"), true);
    return string(Buffer.from(text, "latin1"), false);
  }
}

function string(bytes: Buffer, isHuffman: boolean): Buffer {
  return Buffer.concat([integer(isHuffman ? 0x80 : 0, 7, bytes.length), bytes]);
}

/** RFC 7541, 5.1. */
function integer(prefix: number, bits: number, value: number): Buffer {
  const max = 2 ** bits - 1;
  if (value < max) return Buffer.of(prefix | value);
  const bytes = [prefix | max];
  let rest = value - max;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

/** Field lines that few encoders write: wrong indexes, sizes, lengths and codes, or right ones in odd forms. */
export function oddLine(draw: Draw): Buffer {
  return oneOf(draw, [
    () => integer(0x80, 7, draw(200)),
    () => integer(0x20, 5, oneOf(draw, [0, 31, 4096, 4097, 100_000])),
    () => Buffer.concat([integer(0x40, 6, draw(80)), string(noise(draw, draw(12)), true)]),
    () => Buffer.concat([Buffer.of(0), string(Buffer.from("x-h"), false), string(noise(draw, draw(12)), true)]),
    () => Buffer.concat([Buffer.of(0x10), string(noise(draw, 1 + draw(4)), false), string(noise(draw, 4), false)]),
    () =>
      Buffer.concat([
        Buffer.of(0x40),
        string(Buffer.from("x-long"), false),
        string(Buffer.alloc(draw(5000), "l"), false),
      ]),
    () => Buffer.from([0xff, ...Array<number>(draw(8)).fill(0x80), draw(128)]),
    () =>
      Buffer.concat([
        Buffer.of(0),
        string(Buffer.from(oneOf(draw, oddNames)), false),
        string(Buffer.from(oneOf(draw, oddValues), "latin1"), false),
      ]),
    () => noise(draw, 1 + draw(6)),
  ] as const)();
}

const oddNames = [
  ...([":path", ":method", ":status", ":protocol", "Upper", "", "te", "host", "content-length", "connection"] as const),
  ...(["transfer-encoding", "expect", "x y", "x:y", "cookie", "keep-alive", "upgrade", "proxy-connection"] as const),
] as unknown as readonly [string, ...string[]];
const oddValues = [
  ...(["", " a", "a ", "a\tb", "a\0b", "a\r\nb", "\u00e9", "trailers", "100-continue", "chunked"] as const),
  ...(["0", "5", "1000000", "-1", "+1", "0x1", "GET", "/", "*", "www.example.com"] as const),
] as unknown as readonly [string, ...string[]];

/** The fields of a request that is well formed. */
export function requestFields(draw: Draw, length: number | undefined): readonly Field[] {
  const fields: Field[] = [
    [":method", oneOf(draw, ["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "X-ODD"])],
    [":scheme", oneOf(draw, ["http", "https"])],
    [":path", oneOf(draw, ["/", "/index.html", "/a?b=c", "*", "/%zz"])],
  ];
  if (!once(draw, 5)) fields.push([":authority", oneOf(draw, ["www.example.com", "localhost:8080", "[::1]"])]);
  for (let count = draw(5); count > 0; count -= 1) fields.push(oneOf(draw, plainFields));
  if (length !== undefined && once(draw, 2)) fields.push(["content-length", String(length)]);
  return fields;
}

const plainFields = [
  ["cache-control", "no-cache"],
  ["cache-control", "private"],
  ["custom-key", "custom-value"],
  ["cookie", "a=b"],
  ["cookie", "c=d"],
  ["te", "trailers"],
  ["accept", ""],
  ["x-latin", "\u00e9\u00ff"],
  ["authorization", "Bearer 1"],
  ["authorization", "Bearer 2"],
  ["user-agent", "fuzz"],
  ["x-padded", "a".repeat(300)],
] as const satisfies readonly Field[] as unknown as readonly [Field, ...Field[]];
