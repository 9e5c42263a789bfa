import { unreadable, wrongCount } from "../errors/problem.ts";

/** A message from an envelope. */
export type Enclosed = { readonly message: Uint8Array; readonly isCompressed: boolean };

/** The number of bytes before each message of gRPC and gRPC-Web: flags and length. */
export const prefixBytes = 5;

const compressedFlag = 1;

/** Opens the envelope of a unary request. */
export function open(body: Buffer): Enclosed {
  if (body.length === 0) throw wrongCount();
  const end = endOf(body, 0);
  if (end < body.length && endOf(body, end) > 0) throw wrongCount();
  return { message: body.subarray(prefixBytes), isCompressed: body[0] === compressedFlag };
}

function endOf(body: Buffer, start: number): number {
  const complete = body.length >= start + prefixBytes && (body[start] ?? 0) <= compressedFlag;
  const end = complete ? start + prefixBytes + body.readUInt32BE(start + 1) : Number.POSITIVE_INFINITY;
  if (end > body.length) throw unreadable("BODY_LENGTH");
  return end;
}

/** Puts a message into an envelope, followed by the bytes `after`. */
export function enclose(message: Uint8Array | string, flags: number, after: Uint8Array = none): Buffer {
  const length = typeof message === "string" ? Buffer.byteLength(message) : message.length;
  const whole = Buffer.allocUnsafe(prefixBytes + length + after.length);
  whole[0] = flags;
  whole.writeUInt32BE(length, 1);
  if (typeof message === "string") whole.write(message, prefixBytes);
  else whole.set(message, prefixBytes);
  if (after.length > 0) whole.set(after, prefixBytes + length);
  return whole;
}

const none = new Uint8Array(0);
