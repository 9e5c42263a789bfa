import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { GatewayError, tooLarge } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";

/** A way to compress messages. */
export type Encoding = {
  readonly name: string;
  readonly compress: (bytes: Uint8Array | string) => Promise<Buffer>;
  readonly decompress: (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;
};

const encodings: readonly Encoding[] = [
  { name: "gzip", compress: promisify(zlib.gzip), decompress: promisify(zlib.gunzip) },
  {
    name: "br",
    // The default quality of 11 suits files that are compressed once.
    compress: (bytes) => brotli(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
    decompress: promisify(zlib.brotliDecompress),
  },
  { name: "zstd", compress: promisify(zlib.zstdCompress), decompress: promisify(zlib.zstdDecompress) },
];

const brotli = promisify<Uint8Array | string, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);

const byName = new Map(encodings.map((one) => [one.name, one]));

/** The names of all encodings. */
export const encodingNames: readonly string[] = encodings.map(({ name }) => name);

/**
 * The encodings accepted from unknown callers. Before it outputs a byte, a Brotli decoder decompresses up to the sender's window, at most
 * 16 MiB: 25 bytes on the wire cost 31 ms. The window of gzip is 32 KiB.
 */
export const unknownCallerEncodings: readonly string[] = ["gzip"];

/** The minimum size of a response that is compressed. */
export const minCompressedBytes = 1024;

/** The supported encodings of a request, and the metadata of the error for any other. */
export type SupportedEncodings = {
  readonly supported: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
};

/** The encoding that a header names; undefined for none. Fails for an unsupported one. */
export function encodingOf(
  header: string | undefined,
  { supported, metadata = {} }: SupportedEncodings,
): Encoding | undefined {
  if (header === undefined || header === "identity" || header === "") return undefined;
  const name = header.trim().toLowerCase();
  if (name === "identity") return undefined;
  const encoding = supported.includes(name) ? byName.get(name) : undefined;
  if (!encoding) throw new GatewayError("UNSUPPORTED_ENCODING", { metadata });
  return encoding;
}

/** The first encoding in a client's list that we support. */
export function acceptedEncoding(list: string | undefined): Encoding | undefined {
  if (list === undefined || list === "identity") return undefined;
  const names = list
    .toLowerCase()
    .split(",")
    .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
    .map((one) => one.split(";", 1)[0]?.trim() ?? "");
  const first = names.find((name) => byName.has(name));
  return first === undefined ? undefined : byName.get(first);
}

/** Decompresses a message; fails if it is too large or broken. */
export async function decompressed(encoding: Encoding, bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  if (bytes.length === 0) return bytes;
  try {
    return await encoding.decompress(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    const isTooLarge = cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge
      ? tooLarge(maxBytes, cause)
      : unreadable("BODY_NOT_COMPRESSED", { encoding: encoding.name }, cause);
  }
}
