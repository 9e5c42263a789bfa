import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { access } from "../../../../gen/postern/v1/options_pb.ts";
import { encodingNames, unknownCallerEncodings } from "../codec/compression.ts";
import { contractBytes, unknownCallerBytes } from "./message_limit.ts";

/** What an rpc takes: the most bytes of a message by its contract, and how it may be compressed. */
export type Intake = { readonly messageBytes: number; readonly encodings: readonly string[] };

/** What an rpc of a standard service takes, which nobody has to be signed in for. */
export const unknownCallerIntake: Intake = { messageBytes: unknownCallerBytes, encodings: unknownCallerEncodings };

/** What an rpc of ours takes. */
export const intakeOf = (method: DescMethod): Intake => ({
  messageBytes: contractBytes(method),
  encodings: getOption(method, access).who.case === "anyone" ? unknownCallerEncodings : encodingNames,
});
