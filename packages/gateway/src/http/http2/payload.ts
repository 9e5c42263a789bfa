import { type Frame, uint32 } from "./frame_reader.ts";
import { ConnectionError, ErrorCode, Flag } from "./rfc9113.ts";

/** The position of a frame's payload without padding. */
export function withoutPadding(frame: Frame): { start: number; end: number } {
  if (!frame.has(Flag.PADDED)) return frame;
  const { bytes, start, end } = frame;
  const padding = bytes[start] ?? 0;
  if (padding >= end - start) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "padding longer than its frame");
  return { start: start + 1, end: end - padding };
}

/** Throws for a stream that depends on itself, which RFC 7540, 5.3.1 forbids and h2spec tests. */
export function refuseSelfDependency(streamId: number, bytes: Buffer, at: number): void {
  if ((uint32(bytes, at) & 0x7fffffff) === streamId)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "a stream that depends on itself");
}
