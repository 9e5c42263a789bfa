import { type Enclosed, prefixBytes } from "../codec/envelope.ts";
import { GatewayError, overloaded, tooLarge } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";
import type { BodyAccount } from "../http/body_budget.ts";

/** Limits on the messages of a streaming request. */
export type ReaderLimits = {
  readonly messageMaxBytes: number;
  /** The time from a message's first byte to its last. */
  readonly timeoutMs: number;
  /** Aborted when the call is over. */
  readonly signal: AbortSignal;
  /** Counts the bytes held of an incomplete message. */
  readonly account: BodyAccount;
};

/** Reads the messages of a streaming request, each as soon as it is complete. */
export async function* readMessages(chunks: AsyncIterable<Uint8Array>, limits: ReaderLimits): AsyncGenerator<Enclosed> {
  const source = chunks[Symbol.asyncIterator]();
  const held: Held = { bytes: Buffer.alloc(0), size: 0, needed: prefixBytes, since: 0 };
  try {
    while (true) {
      const part = await withinTime(source.next(), held, limits);
      if (part.done) break;
      if (!limits.account.take(part.value.length)) throw overloaded();
      append(held, part.value);
      if (held.size < held.needed) continue;
      const before = held.size;
      yield* completeMessages(held, limits.messageMaxBytes);
      limits.account.give(before - held.size);
    }
    if (held.size > 0) throw unreadable("BODY_LENGTH");
  } finally {
    source.return?.().catch(() => {});
  }
}

/** The received bytes of an incomplete message: the first `size` bytes of the buffer. */
type Held = { bytes: Buffer; size: number; needed: number; since: number };

function append(held: Held, part: Uint8Array): void {
  if (held.size === 0) held.since = performance.now();
  const size = held.size + part.length;
  if (held.bytes.length < size) held.bytes = grown(held, Math.max(size, 2 * held.size));
  held.bytes.set(part, held.size);
  held.size = size;
}

// A single buffer, whatever the number of parts of a message.
function grown({ bytes, size }: Held, length: number): Buffer {
  const larger = Buffer.allocUnsafe(length);
  larger.set(bytes.subarray(0, size));
  return larger;
}

function* completeMessages(held: Held, messageMaxBytes: number): Generator<Enclosed> {
  let bytes = held.bytes.subarray(0, held.size);
  held.needed = enclosedLength(bytes, messageMaxBytes);
  while (bytes.length >= held.needed) {
    yield { isCompressed: bytes[0] === compressedFlag, message: bytes.subarray(prefixBytes, held.needed) };
    bytes = bytes.subarray(held.needed);
    held.needed = enclosedLength(bytes, messageMaxBytes);
    held.since = performance.now();
  }
  // The rest has no spare room, so the next append copies instead of overwriting messages that were yielded.
  held.bytes = bytes;
  held.size = bytes.length;
}

const compressedFlag = 1;

/** The length of the first message with its prefix, or of the prefix alone while that is incomplete. */
function enclosedLength(bytes: Buffer, messageMaxBytes: number): number {
  if (bytes.length < prefixBytes) return prefixBytes;
  if ((bytes[0] ?? 0) > compressedFlag) throw unreadable("BODY_LENGTH");
  const length = bytes.readUInt32BE(1);
  if (length > messageMaxBytes) throw tooLarge(messageMaxBytes);
  return prefixBytes + length;
}

/** Awaits the next part; rejects if the call ends first, or the rest of a message takes too long. */
async function withinTime<T>(next: Promise<T>, held: Held, { signal, timeoutMs }: ReaderLimits): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timeOut = () => reject(new GatewayError("DEADLINE_EXCEEDED"));
  const cancel = (cause: unknown) => reject(new GatewayError("CANCELLED", { cause }));
  const aborted = () => reject(signal.reason);
  const timer = held.size > 0 && setTimeout(timeOut, Math.max(0, held.since + timeoutMs - performance.now()));
  signal.addEventListener("abort", aborted);
  if (signal.aborted) aborted();
  next.then(resolve, (error) => (error instanceof GatewayError ? reject(error) : cancel(error)));
  try {
    return await promise;
  } finally {
    if (timer) clearTimeout(timer);
    signal.removeEventListener("abort", aborted);
  }
}
