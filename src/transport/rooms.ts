import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues } from "@connectrpc/connect";
import { refuse } from "../errors.ts";
import { inTime } from "./deadline.ts";
import { type Answer, jsonAnswer, type Located } from "./exchange.ts";
import { isObject } from "./json/text.ts";
import { encodeJson, type Rules } from "./json.ts";
import type { Call, Operation, Operations } from "./operations.ts";
import { problem } from "./problem.ts";
import { stream } from "./stream.ts";

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
  /** The longest a unary call may take. */
  readonly deadlineMaxMs?: number;
};

/** A part of the transport that answers its own paths; undefined for those of others. */
export type Room = (asked: Located, call: Call) => Promise<Answer> | undefined;

/** One call that a room has understood. */
export type Visit = {
  readonly asked: Located;
  readonly call: Call;
  readonly operation: Operation;
  readonly decode: () => Message | Promise<Message>;
  /** The field that is the whole body of the answer. */
  readonly part?: DescField | undefined;
};

/** Decodes, calls and encodes, with every refusal as a problem. */
export async function visit(parts: Parts, { asked, call, operation, decode, part }: Visit): Promise<Answer> {
  try {
    if (operation.kind === "unary" && parts.deadlineMaxMs) asked.expire(parts.deadlineMaxMs);
    const request = await reported(parts, call, operation.path, decode);
    if (operation.kind === "stream") return await stream({ refused: parts.refused, asked, call, operation, request });
    const late = () => parts.refused(refuse.because("DEADLINE_EXCEEDED"), call, operation.path);
    const answer = await inTime(operation.unary(request, call), asked.signal, late);
    return jsonAnswer(200, JSON.stringify(shown(operation, answer, part)));
  } catch (error) {
    return problemAnswer(error instanceof ConnectError ? error : parts.refused(error, call, operation.path));
  }
}

/** A refusal as an answer. */
export function problemAnswer(error: ConnectError): Answer {
  const { status, headers, body } = problem(error);
  return jsonAnswer(status, body, headers);
}

function shown({ method }: Operation, answer: Message, part: DescField | undefined) {
  const json = encodeJson(method.output, answer);
  return part && isObject(json) ? (json[part.jsonName] ?? null) : json;
}

async function reported<T>(parts: Parts, call: Call, operation: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw parts.refused(error, call, operation);
  }
}
