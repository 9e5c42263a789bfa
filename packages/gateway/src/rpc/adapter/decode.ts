import type { Message } from "@bufbuild/protobuf";
import { reasonOf, refuse } from "../../../../../src/errors.ts";
import { decompressed, type Encoding, encodingOf } from "../../codec/compression.ts";
import type { Decoder } from "../../codec/decoder.ts";
import { noRoom } from "../../http/body_budget.ts";
import { messageBytes, tooLarge } from "../../limits/message_limit.ts";
import type { Rpc } from "../operations.ts";
import { base64Bytes } from "../protocols/grpc_web.ts";
import type { Enclosed } from "../protocols/protocol.ts";
import type { Located } from "../request.ts";
import { frames } from "./frames.ts";
import { fieldsOf, type Spoken } from "./spoken.ts";

/** What bounds the reading of a request. */
export type ReadLimits = {
  readonly deadlineMaxMs: number;
  readonly bodyTimeoutMs: number;
  readonly messageMaxBytes: number;
};

/** A request of a known rpc, not read yet. */
export type Unread = {
  readonly asked: Located;
  readonly spoken: Spoken;
  readonly rpc: Rpc;
  readonly decoder: Decoder;
  readonly limits: ReadLimits;
};

/** Reads the one message of a request, once its headers say enough and its gate is passed; refuses in our words what is wrong with it. */
export async function decodeRequest(unread: Unread, gate: () => Promise<void>): Promise<Message> {
  const { asked, spoken } = unread;
  const protocol = begin(unread);
  await gate();
  const request = await decoded(unread, spoken.inQuery ? queried(unread) : await enclosed(unread, protocol));
  // A stream may be answered for hours, and its body is of no use any more.
  asked.account.release();
  return request;
}

/** Reads the messages of a request, each when it is asked for; what its headers say is looked at at once. */
export function decodeRequests(unread: Unread, signal: AbortSignal): AsyncIterable<Message> {
  const { asked, spoken, limits } = unread;
  const { encodingHeader, acceptHeader } = begin(unread);
  const encoding = readable(unread, asked.headers.get(encodingHeader), acceptHeader);
  const chunks = spoken.text ? fromBase64(asked.chunks()) : asked.chunks();
  const { account } = asked;
  const bounds = { mostBytes: mostBytes(unread), timeoutMs: limits.bodyTimeoutMs, signal, account };
  return (async function* () {
    for await (const frame of frames(chunks, bounds)) yield await decoded(unread, named(frame, encoding));
  })();
}

type Heard = NonNullable<Spoken["protocol"]>;

function begin(unread: Unread): Heard {
  const { asked, spoken, rpc } = unread;
  const { protocol, family } = spoken;
  const fits = family.startsWith("grpc") || (family === "connect unary") === (rpc.kind === "unary");
  if (!protocol || !fits) throw refuse.because("UNSUPPORTED_CONTENT_TYPE");
  hurry(unread, protocol.timeout(fieldsOf(asked)));
  return protocol;
}

const longestTimer = 2 ** 31 - 1;

// A stream lives on for as long as its reader wants; a unary call always ends.
function hurry({ asked, rpc, limits: { deadlineMaxMs } }: Unread, timeoutMs: number | undefined): void {
  if (rpc.kind === "unary") asked.expire(Math.min(timeoutMs ?? deadlineMaxMs, deadlineMaxMs));
  else if (timeoutMs !== undefined) asked.expire(Math.min(timeoutMs, longestTimer));
}

async function decoded(unread: Unread, { message, encoding }: Found): Promise<Message> {
  if (!encoding) return decodedWhole(unread, message);
  const { account } = unread.asked;
  const most = mostBytes(unread);
  // As much as it may become; nobody knows before.
  if (!account.take(most)) throw noRoom();
  try {
    return decodedWhole(unread, await decompressed(encoding, message, most));
  } finally {
    account.give(most);
  }
}

function decodedWhole(unread: Unread, bytes: Uint8Array): Message {
  const most = mostBytes(unread);
  if (bytes.length > most) throw tooLarge(most);
  return unread.spoken.json ? unread.decoder.fromJson(bytes) : unread.decoder.fromBinary(bytes);
}

type Found = { readonly message: Uint8Array; readonly encoding: Encoding | undefined };

const mostBytes = ({ rpc, limits }: Unread) => messageBytes(rpc, limits);

async function enclosed(unread: Unread, protocol: Heard): Promise<Found> {
  const { asked } = unread;
  const encoding = readable(unread, asked.headers.get(protocol.encodingHeader), protocol.acceptHeader);
  const most = mostBytes(unread);
  const body = await asked.body(most + protocol.around(most)).catch((error) => {
    // The limit that a caller is told of is the message's, without what surrounds it.
    throw reasonOf(error) === "BODY_TOO_LARGE" ? tooLarge(most, error) : error;
  });
  return named(protocol.open(Buffer.from(body), encoding), encoding);
}

// https://github.com/grpc/grpc/blob/master/doc/compression.md: compressed by no encoding that is named is INTERNAL.
function named({ message, compressed }: Enclosed, encoding: Encoding | undefined): Found {
  if (compressed && !encoding) throw refuse.because("ENCODING_MISSING");
  return { message, encoding: compressed ? encoding : undefined };
}

// Complete groups of four are decoded as they come; what is left is an error when the body ends.
async function* fromBase64(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = Buffer.concat([rest, chunk]);
    const whole = text.length - (text.length % 4);
    rest = text.subarray(whole);
    yield base64Bytes(text.subarray(0, whole));
  }
  if (rest.length > 0) throw refuse.because("MALFORMED_BODY");
}

function queried(unread: Unread): Found {
  const { query, headers } = unread.asked;
  const given = new URLSearchParams(query);
  const text = given.get("message") ?? "";
  if (!["v1", null].includes(given.get("connect"))) throw refuse.because("MALFORMED_REQUEST");
  const encoding = readable(unread, given.get("compression"), "accept-encoding");
  if (given.get("base64") !== "1") return { message: Buffer.from(text), encoding };
  if (!/^[\w+/-]*={0,2}$/.test(text) || headers.get("content-length")) throw refuse.because("MALFORMED_BODY");
  return { message: Buffer.from(text, "base64url"), encoding };
}

function readable({ rpc }: Unread, name: string | null, acceptHeader: string): Encoding | undefined {
  try {
    return encodingOf(name ?? undefined, rpc.encodings);
  } catch (error) {
    const refusal = refuse.because("UNSUPPORTED_ENCODING", { cause: error });
    refusal.metadata.set(acceptHeader, rpc.encodings.join(","));
    throw refusal;
  }
}
