import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { reasonOf, refuse } from "../../errors.ts";
import { decodeJson, encodeJson, type Rules, readJsonObject, twice } from "../json.ts";
import type { Operation } from "../operations.ts";
import type { Parts } from "../rooms.ts";
import { LaneCall } from "./call.ts";
import { accepted, decompressed, type Encoding, encodingNames, encodingOf, leastCompressed } from "./compression.ts";
import { type Dialect, type Fields, fieldOf, type Reply } from "./protocol.ts";

/** What bounds a call in the lane. */
export type LaneLimits = {
  readonly messageMaxBytes: number;
  readonly bodyTimeoutMs: number;
  readonly deadlineMaxMs: number;
};

/** What the lane is given by the server. */
export type LaneParts = Pick<Parts, "operations" | "rules" | "newCall" | "refused"> & {
  readonly limits: LaneLimits;
  /** Aborts when the server is about to stop. */
  readonly stopping: AbortSignal;
  /** Headers that go with every answer to a request, such as those for browsers. */
  readonly also?: (headers: Fields) => Readonly<Record<string, string>>;
};

/** A unary operation and the rules of its request. */
export type Known = { readonly operation: Extract<Operation, { kind: "unary" }>; readonly rules: Rules };

/** A request that the lane has taken, before its body. */
export type Arrival = {
  readonly parts: LaneParts;
  readonly known: Known;
  readonly dialect: Dialect;
  readonly headers: Fields;
};

/** Sends an answer; does not throw when nobody is there to take it. */
export type Send = (reply: Reply, requestId: string) => void;

/** One call on its way through the lane. */
export type Visit = Arrival & {
  readonly send: Send;
  readonly requestId: string;
  readonly call: LaneCall;
  encoding: Encoding | undefined;
  stage: "reading" | "running" | "over";
  deadline: NodeJS.Timeout | undefined;
  bodyTimer: NodeJS.Timeout | undefined;
};

/** Begins a call, which always ends in time; what is wrong with its headers is answered at once. */
export function enter({ parts, known, dialect, headers }: Arrival, send: Send): Visit {
  const { requestId, values } = parts.newCall();
  const call = new LaneCall(values, headers);
  // Spelled out, because spreading an object costs as much as decoding a small message.
  const visit: Visit = {
    parts,
    known,
    dialect,
    headers,
    send,
    requestId,
    call,
    encoding: undefined,
    stage: "reading",
    deadline: undefined,
    bodyTimer: undefined,
  };
  try {
    visit.encoding = encodingOf(fieldOf(headers, dialect.protocol.encodingHeader));
    hurry(visit, dialect.protocol.timeout(headers) ?? parts.limits.deadlineMaxMs);
  } catch (error) {
    fail(visit, error);
  }
  return visit;
}

/** Bounds the time for the rest of the body. */
export function awaitBody(visit: Visit): void {
  if (!isOver(visit)) visit.bodyTimer = setTimeout(tooSlow, visit.parts.limits.bodyTimeoutMs, visit);
}

const tooSlow = (visit: Visit) => fail(visit, refuse.because("DEADLINE_EXCEEDED"));

/** The client is gone: whoever works for it may stop. */
export function leave(visit: Visit): void {
  if (isOver(visit)) return;
  const gone = refuse.because("CANCELLED");
  if (visit.stage === "reading") refusalOf(visit, gone);
  close(visit);
  visit.call.end(gone);
}

/** Ends a call with what went wrong outside the guards, unless it is over. */
export function fail(visit: Visit, error: unknown): void {
  if (!isOver(visit)) deny(visit, refusalOf(visit, error));
}

/** Runs the operation on a body that is complete. */
export async function run(visit: Visit, body: Buffer): Promise<void> {
  clearTimeout(visit.bodyTimer);
  if (isOver(visit)) return;
  const { dialect, known } = visit;
  try {
    const { message, compressed } = dialect.protocol.open(body, visit.encoding);
    const request = decoded(visit, compressed ? await inflated(visit, message) : message);
    if (isOver(visit)) return;
    visit.stage = "running";
    const answer = encoded(visit, await known.operation.unary(request, visit.call));
    const encoding = answer.length < leastCompressed ? undefined : acceptedBy(visit);
    const outgoing = { message: encoding ? await encoding.compress(answer) : answer, encoding };
    finish(visit, dialect.protocol.answer(outgoing, dialect.contentType));
  } catch (error) {
    // What the guards let out they have reported already.
    if (visit.stage === "running" && error instanceof ConnectError) deny(visit, error);
    else fail(visit, error);
  }
}

const isOver = ({ stage }: Visit) => stage === "over";

const refusalOf = ({ parts, call, known }: Visit, error: unknown) => parts.refused(error, call, known.operation.path);

function hurry(visit: Visit, timeoutMs: number): void {
  if (timeoutMs <= 0) throw refuse.because("DEADLINE_EXCEEDED");
  visit.deadline = setTimeout(expire, Math.min(timeoutMs, visit.parts.limits.deadlineMaxMs), visit);
}

function expire(visit: Visit): void {
  const late = refuse.because("DEADLINE_EXCEEDED");
  visit.call.end(late);
  // A handler that heeds the signal ends in this turn, and its guards report it; the others are not waited for.
  setImmediate(fail, visit, late);
}

function deny(visit: Visit, refusal: ConnectError): void {
  if (isOver(visit)) return;
  const { protocol } = visit.dialect;
  const reply = replyTo(visit, refusal);
  const known = reasonOf(refusal) === "UNSUPPORTED_ENCODING" && { [protocol.acceptHeader]: encodingNames };
  finish(visit, known ? { ...reply, headers: { ...reply.headers, ...known } } : reply);
}

// Also called by timers, where nobody would catch what a refusal that cannot be written throws.
function replyTo(visit: Visit, refusal: ConnectError): Reply {
  const { protocol, contentType } = visit.dialect;
  try {
    return protocol.refusal(refusal, contentType);
  } catch (error) {
    return protocol.refusal(refusalOf(visit, error), contentType);
  }
}

function finish(visit: Visit, reply: Reply): void {
  if (isOver(visit)) return;
  close(visit);
  const more = visit.parts.also?.(visit.headers);
  visit.send(more ? { ...reply, headers: { ...reply.headers, ...more } } : reply, visit.requestId);
}

function close(visit: Visit): void {
  visit.stage = "over";
  clearTimeout(visit.bodyTimer);
  clearTimeout(visit.deadline);
}

function inflated({ encoding, parts }: Visit, message: Uint8Array): Promise<Uint8Array> {
  if (!encoding) throw refuse.because("MALFORMED_BODY");
  return decompressed(encoding, message, parts.limits.messageMaxBytes);
}

function decoded({ dialect, known, parts }: Visit, bytes: Uint8Array): Message {
  if (bytes.length > parts.limits.messageMaxBytes) throw refuse.because("BODY_TOO_LARGE");
  const type = known.operation.method.input;
  if (dialect.json) {
    const { value, repeated } = readJsonObject(bytes);
    return decodeJson(type, { value, violations: twice(repeated) }, known.rules);
  }
  try {
    return fromBinary(type, bytes, { readUnknownFields: false });
  } catch (cause) {
    throw refuse.because("MALFORMED_BODY", { cause });
  }
}

function encoded({ dialect, known }: Visit, answer: Message): Uint8Array | string {
  const type = known.operation.method.output;
  return dialect.json ? JSON.stringify(encodeJson(type, answer)) : toBinary(type, answer);
}

const acceptedBy = ({ dialect, headers }: Visit) => accepted(fieldOf(headers, dialect.protocol.acceptHeader));
