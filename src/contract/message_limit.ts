import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { encodingNames, largestMessage, unknownCallerBytes, unknownCallerEncodings } from "@postern/gateway";
import { access, message_bytes } from "../../gen/postern/v1/options_pb.ts";
import { contractBounds } from "./field_bounds.ts";

/** The limits of an rpc: the maximum message size by its contract, and the allowed encodings. */
export const limitsOf = (method: DescMethod) => ({
  messageMaxBytes: contractBytes(method),
  encodings: getOption(method, access).who.case === "anyone" ? unknownCallerEncodings : encodingNames,
});

/** Computes an rpc's maximum message size from its contract, or throws an error that names the field without a limit. */
export function contractBytes(method: DescMethod): number {
  const { binary, json, unbounded } = largestMessage(method.input, contractBounds);
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
