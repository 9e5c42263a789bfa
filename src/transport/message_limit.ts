import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { access, message_bytes } from "../../gen/postern/v1/options_pb.ts";
import { refuse } from "../errors.ts";

/** The most bytes of a message of an rpc that nobody has to be signed in for. */
export const unknownCallerBytes = 16_384;

/** The most bytes of a message that the contract of an rpc allows; infinite when it does not say. */
export function contractBytes(method: DescMethod): number {
  const stated = hasOption(method, message_bytes) ? getOption(method, message_bytes) : Number.POSITIVE_INFINITY;
  return getOption(method, access).who.case === "anyone" ? Math.min(stated, unknownCallerBytes) : stated;
}

/** The most bytes of a message of an rpc, on the wire and decompressed: by its contract and by the setting. */
export const messageBytes = (rpc: { readonly messageBytes: number }, limits: { readonly messageMaxBytes: number }) =>
  Math.min(rpc.messageBytes, limits.messageMaxBytes);

/** Refuses a message that is larger than its rpc takes; the limit goes with the refusal. */
export const tooLarge = (mostBytes: number, cause?: unknown): ConnectError =>
  refuse.because("BODY_TOO_LARGE", { params: { limit: String(mostBytes) }, cause });
