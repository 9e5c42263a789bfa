import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { GatewayError, tooLarge } from "../errors/gateway_error.ts";

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
    // The default quality of 11 is made for files that are compressed once.
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
 * The encodings of requests that nobody has to be signed in for. A decoder of Brotli unpacks as much as the window of its sender
 * holds, up to 16 MiB, before it shows a byte: 25 bytes on the wire cost 31 ms. That of gzip holds 32 KiB.
 */
export const unknownCallerEncodings: readonly string[] = ["gzip"];

/** Answers smaller than this are sent as they are. */
export const leastCompressed = 1024;

/** Which encodings of a request are taken, and the headers of a refusal of any other. */
export type TakenEncodings = {
  readonly taken: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
};

/** The encoding that a header names; undefined for none, a refusal for one that is not among those that are taken. */
export function encodingOf(
  written: string | undefined,
  { taken, metadata = {} }: TakenEncodings,
): Encoding | undefined {
  if (written === undefined || written === "identity" || written === "") return undefined;
  const name = written.trim().toLowerCase();
  if (name === "identity") return undefined;
  const encoding = taken.includes(name) ? byName.get(name) : undefined;
  if (!encoding) throw new GatewayError("UNSUPPORTED_ENCODING", { metadata });
  return encoding;
}

/** The first of the encodings that a client accepts which we can write. */
export function accepted(list: string | undefined): Encoding | undefined {
  if (list === undefined || list === "identity") return undefined;
  const names = list
    .toLowerCase()
    .split(",")
    .filter((one) => !/;\s*q=0(\.0*)?\s*$/.test(one))
    .map((one) => one.split(";", 1)[0]?.trim() ?? "");
  const first = names.find((name) => byName.has(name));
  return first === undefined ? undefined : byName.get(first);
}

/** Decompresses a message, or refuses one that is too large or broken. */
export async function decompressed(encoding: Encoding, bytes: Uint8Array, most: number): Promise<Uint8Array> {
  if (bytes.length === 0) return bytes;
  try {
    return await encoding.decompress(bytes, { maxOutputLength: most });
  } catch (cause) {
    const isTooLarge = cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge ? tooLarge(most, cause) : new GatewayError("MALFORMED_BODY", { cause });
  }
}
