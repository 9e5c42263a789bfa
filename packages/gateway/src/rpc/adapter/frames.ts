import { refuse } from "../../../../../src/errors.ts";
import { prefixBytes } from "../../codec/envelope.ts";
import { type BodyAccount, noRoom } from "../../http/body_budget.ts";
import { tooLarge } from "../../limits/message_limit.ts";
import { isLate } from "../deadline.ts";
import type { Enclosed } from "../protocols/protocol.ts";

/** What bounds the messages of a streamed request. */
export type FrameLimits = {
  readonly mostBytes: number;
  /** How long a message may take from its first byte to its last. */
  readonly timeoutMs: number;
  /** Aborts when nobody wants more. */
  readonly signal: AbortSignal;
  /** Counts what is held of a message. */
  readonly account: BodyAccount;
};

/** The messages of a streamed request, each as soon as it is complete. */
export async function* frames(chunks: AsyncIterable<Uint8Array>, limits: FrameLimits): AsyncGenerator<Enclosed> {
  const source = chunks[Symbol.asyncIterator]();
  const held: Held = { bytes: Buffer.alloc(0), size: 0, needed: prefixBytes, since: 0 };
  try {
    while (true) {
      const at = await awaited(source.next(), held, limits);
      if (at.done) break;
      if (!limits.account.take(at.value.length)) throw noRoom();
      hold(held, at.value);
      if (held.size < held.needed) continue;
      const before = held.size;
      yield* completed(held, limits.mostBytes);
      limits.account.give(before - held.size);
    }
    if (held.size > 0) throw refuse.because("MALFORMED_BODY");
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

function* completed(held: Held, mostBytes: number): Generator<Enclosed> {
  let bytes = held.bytes.subarray(0, held.size);
  held.needed = lengthOf(bytes, mostBytes);
  while (bytes.length >= held.needed) {
    yield { compressed: bytes[0] === compressedFlag, message: bytes.subarray(prefixBytes, held.needed) };
    bytes = bytes.subarray(held.needed);
    held.needed = lengthOf(bytes, mostBytes);
    held.since = performance.now();
  }
  // Without room behind it, so that nothing is written over messages that are out.
  held.bytes = bytes;
  held.size = bytes.length;
}

const compressedFlag = 1;

/** How many bytes the first message takes with its prefix; just a prefix, as long as that is not complete. */
function lengthOf(bytes: Buffer, mostBytes: number): number {
  if (bytes.length < prefixBytes) return prefixBytes;
  if ((bytes[0] ?? 0) > compressedFlag) throw refuse.because("MALFORMED_BODY");
  const length = bytes.readUInt32BE(1);
  if (length > mostBytes) throw tooLarge(mostBytes);
  return prefixBytes + length;
}

/** What comes next, unless the call ends before, or the rest of a message does not come in time. */
async function awaited<T>(next: Promise<T>, held: Held, { signal, timeoutMs }: FrameLimits): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const cancel = (cause: unknown) => reject(refuse.because("CANCELLED", { cause }));
  const slow = () => reject(refuse.because("DEADLINE_EXCEEDED"));
  const timer = held.size > 0 && setTimeout(slow, Math.max(0, held.since + timeoutMs - performance.now()));
  const gone = () => (isLate(signal) ? slow() : cancel(signal.reason));
  signal.addEventListener("abort", gone);
  if (signal.aborted) gone();
  next.then(resolve, cancel);
  try {
    return await promise;
  } finally {
    if (timer) clearTimeout(timer);
    signal.removeEventListener("abort", gone);
  }
}
