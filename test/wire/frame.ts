/** A frame of gRPC, gRPC-Web and streaming Connect: one byte of flags, four of the length, the message. */
export type Frame = { readonly flags: number; readonly message: Buffer };

const prefixBytes = 5;

/** Writes a frame. */
export function frame(message: string | Uint8Array, flags = 0): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(message);
  const prefix = Buffer.alloc(prefixBytes);
  prefix[0] = flags;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** Reads the first frame, and answers the bytes after it; undefined while the frame is not whole. */
export function readFrame(bytes: Buffer): { readonly frame: Frame; readonly rest: Buffer } | undefined {
  if (bytes.length < prefixBytes) return undefined;
  const end = prefixBytes + bytes.readUInt32BE(1);
  if (bytes.length < end) return undefined;
  return { frame: { flags: bytes[0] ?? 0, message: bytes.subarray(prefixBytes, end) }, rest: bytes.subarray(end) };
}

/** Reads all frames of a body, which has to end with the last one. */
export function readFrames(body: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let rest = body; rest.length > 0; ) {
    const read = readFrame(rest);
    if (!read) throw new Error("a frame is cut off");
    frames.push(read.frame);
    rest = read.rest;
  }
  return frames;
}
