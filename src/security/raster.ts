/** An image that pages may show: its media type and its size in pixels. */
export type Raster = {
  readonly type: "image/png" | "image/jpeg" | "image/webp";
  readonly width: number;
  readonly height: number;
};

/** Recognizes a PNG, JPEG or WebP image by its first bytes, whatever its declared type; undefined for anything else. */
export function rasterOf(bytes: Uint8Array): Raster | undefined {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return png(data) ?? jpeg(data) ?? webp(data);
}

const pngSignature = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

function png(data: Buffer): Raster | undefined {
  if (data.length < 24 || !data.subarray(0, 16).equals(pngSignature)) return undefined;
  return { type: "image/png", width: data.readUInt32BE(16), height: data.readUInt32BE(20) };
}

/** Finds the frame header of a JPEG image (ITU-T T.81, B.2.2), after its other segments. */
function jpeg(data: Buffer): Raster | undefined {
  if (data.length < 4 || data.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= data.length && data[at] === 0xff; ) {
    const marker = data[at + 1] ?? 0;
    if (isFrame(marker))
      return { type: "image/jpeg", width: data.readUInt16BE(at + 7), height: data.readUInt16BE(at + 5) };
    at += marker === 0xff ? 1 : 2 + data.readUInt16BE(at + 2);
  }
  return undefined;
}

const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Reads the size of a WebP image in any of its three forms (RFC 9649). */
function webp(data: Buffer): Raster | undefined {
  if (data.length < 30 || data.toString("latin1", 0, 4) !== "RIFF" || data.toString("latin1", 8, 12) !== "WEBP")
    return undefined;
  const type = "image/webp";
  switch (data.toString("latin1", 12, 16)) {
    case "VP8X":
      return { type, width: 1 + data.readUIntLE(24, 3), height: 1 + data.readUIntLE(27, 3) };
    case "VP8L": {
      const bits = data.readUInt32LE(21);
      return { type, width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff) };
    }
    case "VP8 ":
      return { type, width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}
