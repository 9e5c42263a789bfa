import type { DescMessage } from "@bufbuild/protobuf";
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import type { Rules } from "../codec/json.ts";
import type { Call, Operations } from "./operations.ts";
import { problem } from "./protocols/json_error.ts";
import type { Answer, Located } from "./request.ts";

/** What the transport is given by the server. */
export type Parts = {
  readonly operations: Operations;
  /** The rules of a type of message, for refusals that name everything at once. */
  readonly rules: (type: DescMessage) => Rules;
  /** Begins a call: its id and the values that guards will add to. */
  readonly newCall: () => { readonly requestId: string; readonly values: ContextValues };
  /** Turns what went wrong outside the guards into a refusal, and reports it as they would. */
  readonly refused: (error: unknown, call: Call, operation: string) => ConnectError;
  /** Whether this node can serve. */
  readonly ready: () => boolean | Promise<boolean>;
  readonly limits: CallLimits;
};

/** What bounds a call. */
export type CallLimits = {
  readonly messageMaxBytes: number;
  readonly bodyTimeoutMs: number;
  /** The longest a unary call may take. */
  readonly deadlineMaxMs: number;
};

/** A part of the transport that answers its own paths; undefined for those of others. */
export type Room = (asked: Located, call: Call) => Promise<Answer> | undefined;

/** A refusal as an answer. */
export function problemAnswer(error: ConnectError): Answer {
  const { status, contentType, headers, body } = problem(error);
  return { status, headers: { ...headers, "content-type": contentType }, body };
}
