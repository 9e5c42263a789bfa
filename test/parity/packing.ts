import * as zlib from "node:zlib";

/** The compression of a request, and the encodings that its response may use. */
export type Packing = {
  readonly request?: string | undefined;
  readonly accept?: string | undefined;
  /** Says that the request is compressed, which it is not. */
  readonly broken?: boolean;
};

type Packer = { readonly pack: (bytes: Uint8Array) => Buffer; readonly unpack: (bytes: Uint8Array) => Buffer };

/** Every encoding that a client may use. */
export const packers: Readonly<Record<string, Packer>> = {
  gzip: { pack: (bytes) => zlib.gzipSync(bytes), unpack: (bytes) => zlib.gunzipSync(bytes) },
  br: { pack: (bytes) => zlib.brotliCompressSync(bytes), unpack: (bytes) => zlib.brotliDecompressSync(bytes) },
  zstd: { pack: (bytes) => zlib.zstdCompressSync(bytes), unpack: (bytes) => zlib.zstdDecompressSync(bytes) },
};

/** The bytes as they are sent. */
export function packed(bytes: Uint8Array, { request = "", broken = false }: Packing = {}): Buffer {
  return (broken ? undefined : packers[request])?.pack(bytes) ?? Buffer.from(bytes);
}

/** The bytes as they were before an encoding; they are in no other. */
export function unpacked(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined || encoding === "identity") return bytes;
  const packer = packers[encoding];
  if (!packer) throw new Error(`an answer in ${encoding}`);
  return packer.unpack(bytes);
}

/** The headers that say so, in front of which a protocol puts a word of its own. */
export function packingHeaders({ request, accept }: Packing = {}, prefix: "content" | "grpc" = "content") {
  const acceptName = prefix === "grpc" ? "grpc-accept-encoding" : "accept-encoding";
  return {
    ...(request !== undefined && { [`${prefix}-encoding`]: request }),
    ...(accept !== undefined && { [acceptName]: accept }),
  };
}
