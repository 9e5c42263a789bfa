/** Types of HTTP/2 frames: RFC 9113, 6. */
export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;

/** Flags of HTTP/2 frames. */
export const flags = { none: 0, ack: 1, endStream: 1, endHeaders: 4, padded: 8 } as const;

/** The connection preface of a client: RFC 9113, 3.4. */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

const nothing = Buffer.alloc(0);

/** Builds a frame. */
export function frame(type: number, flag: number, stream: number, payload: Uint8Array = nothing): Buffer {
  const whole = Buffer.allocUnsafe(9 + payload.length);
  whole.writeUIntBE(payload.length, 0, 3);
  whole[3] = type;
  whole[4] = flag;
  whole.writeUInt32BE(stream, 5);
  whole.set(payload, 9);
  return whole;
}

/** A WINDOW_UPDATE frame. */
export function windowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(types.window, flags.none, stream, payload);
}

/** A SETTINGS frame of pairs of identifier and value. */
export function settings(...entries: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * entries.length);
  for (const [at, [id, value]] of entries.entries()) {
    payload.writeUInt16BE(id, 6 * at);
    payload.writeUInt32BE(value, 6 * at + 2);
  }
  return frame(types.settings, flags.none, 0, payload);
}

/** Header fields by their names. */
export type Fields = Readonly<Record<string, string>>;

/** A header block of literals that are never indexed: RFC 7541, 6.2.2. */
export const block = (fields: Fields): Buffer =>
  Buffer.concat(Object.entries(fields).flatMap(([name, value]) => [Buffer.of(0), ...literal(name), ...literal(value)]));

const literal = (text: string) => [integer(text.length, 7), Buffer.from(text, "latin1")];

/** RFC 7541, 5.1. */
export function integer(value: number, prefixBits: number, first = 0): Buffer {
  const most = (1 << prefixBits) - 1;
  if (value < most) return Buffer.of(first | value);
  const bytes = [first | most];
  let rest = value - most;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}

/** A frame that was read. */
export type Frame = {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
};

/** Cuts what arrives into frames. */
export function frameReader(take: (frame: Frame) => void): (part: Buffer) => void {
  let held: Buffer[] = [];
  let size = 0;
  let needed = 9;
  return (part) => {
    held.push(part);
    size += part.length;
    if (size < needed) return;
    let bytes = held.length === 1 ? part : Buffer.concat(held);
    needed = lengthAt(bytes);
    while (bytes.length >= needed) {
      const stream = bytes.readUInt32BE(5) & 0x7fffffff;
      take({ type: bytes[3] ?? 0, flags: bytes[4] ?? 0, stream, payload: bytes.subarray(9, needed) });
      bytes = bytes.subarray(needed);
      needed = lengthAt(bytes);
    }
    held = [bytes];
    size = bytes.length;
  };
}

const lengthAt = (bytes: Buffer) => (bytes.length < 9 ? 9 : 9 + bytes.readUIntBE(0, 3));
