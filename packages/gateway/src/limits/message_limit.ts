import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { access, message_bytes } from "../../../../gen/postern/v1/options_pb.ts";
import { refuse } from "../../../../src/errors.ts";
import { largestMessage } from "./largest_message.ts";

/** The most bytes of a message of an rpc that nobody has to be signed in for; no limit that is computed is smaller. */
export const unknownCallerBytes = 16_384;

/** The most bytes of a message of an rpc by its contract, or an error that says which field has no bound. */
export function contractBytes(method: DescMethod): number {
  const { binary, json, unbounded } = largestMessage(method.input);
  const byRules = Math.max(unknownCallerBytes, 1024 * Math.ceil(Math.max(binary, json) / 1024));
  const most = hasOption(method, message_bytes) ? Math.min(byRules, getOption(method, message_bytes)) : byRules;
  const name = `${method.parent.typeName}.${method.name}`;
  if (!Number.isFinite(most))
    throw new Error(`${name} has no largest message: bound its field ${unbounded}, or state message_bytes`);
  if (getOption(method, access).who.case !== "anyone" || most <= unknownCallerBytes) return most;
  throw new Error(
    `${name} may be called by anyone: its messages may have ${unknownCallerBytes} bytes, and its contract allows ${most}`,
  );
}

/** The most bytes of a message of an rpc, on the wire and decompressed: by its contract and by the setting. */
export const messageBytes = (rpc: { readonly messageBytes: number }, limits: { readonly messageMaxBytes: number }) =>
  Math.min(rpc.messageBytes, limits.messageMaxBytes);

/** Refuses a message that is larger than its rpc takes; the limit goes with the refusal. */
export const tooLarge = (mostBytes: number, cause?: unknown): ConnectError =>
  refuse.because("BODY_TOO_LARGE", { params: { limit: String(mostBytes) }, cause });
