import { type Enclosed, prefixBytes } from "../codec/envelope.ts";
import { GatewayError, overloaded, tooLarge } from "../errors/gateway_error.ts";
import type { BodyAccount } from "../http/body_budget.ts";

/** What bounds the messages of a request that streams them. */
export type ReaderLimits = {
  readonly messageMaxBytes: number;
  /** How long a message may take from its first byte to its last. */
  readonly timeoutMs: number;
  /** Aborts when nobody wants more. */
  readonly signal: AbortSignal;
  /** Counts what is held of a message. */
  readonly account: BodyAccount;
};

/** Reads the messages of a request that streams them, each as soon as it is complete. */
export async function* readMessages(chunks: AsyncIterable<Uint8Array>, limits: ReaderLimits): AsyncGenerator<Enclosed> {
  const source = chunks[Symbol.asyncIterator]();
  const held: Held = { bytes: Buffer.alloc(0), size: 0, needed: prefixBytes, since: 0 };
  try {
    while (true) {
      const part = await inTime(source.next(), held, limits);
      if (part.done) break;
      if (!limits.account.take(part.value.length)) throw overloaded();
      hold(held, part.value);
      if (held.size < held.needed) continue;
      const before = held.size;
      yield* complete(held, limits.messageMaxBytes);
      limits.account.give(before - held.size);
    }
    if (held.size > 0) throw new GatewayError("MALFORMED_BODY");
  } finally {
    source.return?.().catch(() => {});
  }
}

/** What has come of a message; the buffer is as large as that, or larger. */
type Held = { bytes: Buffer; size: number; needed: number; since: number };

function hold(held: Held, part: Uint8Array): void {
  if (held.size === 0) held.since = performance.now();
  const size = held.size + part.length;
  if (held.bytes.length < size) held.bytes = grown(held, Math.max(size, 2 * held.size));
  held.bytes.set(part, held.size);
  held.size = size;
}

// One buffer, however many parts a message is cut into.
function grown({ bytes, size }: Held, length: number): Buffer {
  const larger = Buffer.allocUnsafe(length);
  larger.set(bytes.subarray(0, size));
  return larger;
}

function* complete(held: Held, messageMaxBytes: number): Generator<Enclosed> {
  let bytes = held.bytes.subarray(0, held.size);
  held.needed = lengthOf(bytes, messageMaxBytes);
  while (bytes.length >= held.needed) {
    yield { isCompressed: bytes[0] === compressedFlag, message: bytes.subarray(prefixBytes, held.needed) };
    bytes = bytes.subarray(held.needed);
    held.needed = lengthOf(bytes, messageMaxBytes);
    held.since = performance.now();
  }
  // Without room behind it, so that nothing is written over messages that are out.
  held.bytes = bytes;
  held.size = bytes.length;
}

const compressedFlag = 1;

/** How many bytes the first message takes with its prefix; just a prefix, as long as that is not complete. */
function lengthOf(bytes: Buffer, messageMaxBytes: number): number {
  if (bytes.length < prefixBytes) return prefixBytes;
  if ((bytes[0] ?? 0) > compressedFlag) throw new GatewayError("MALFORMED_BODY");
  const length = bytes.readUInt32BE(1);
  if (length > messageMaxBytes) throw tooLarge(messageMaxBytes);
  return prefixBytes + length;
}

/** The next part, unless the call ends before, or the rest of a message does not come in time. */
async function inTime<T>(next: Promise<T>, held: Held, { signal, timeoutMs }: ReaderLimits): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const slow = () => reject(new GatewayError("DEADLINE_EXCEEDED"));
  const cancel = (cause: unknown) => reject(new GatewayError("CANCELLED", { cause }));
  const aborted = () => reject(signal.reason);
  const timer = held.size > 0 && setTimeout(slow, Math.max(0, held.since + timeoutMs - performance.now()));
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
