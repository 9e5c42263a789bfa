import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { reasonOf, refuse } from "../../../../../src/errors.ts";
import { accepted, decompressed, type Encoding, leastCompressed } from "../../codec/compression.ts";
import { type BodyAccount, noRoom } from "../../http/body_budget.ts";
import { messageBytes, tooLarge } from "../../limits/message_limit.ts";
import { type Deadlines, type Due, deadlines } from "../deadlines.ts";
import type { Operation } from "../operations.ts";
import { type Dialect, type Fields, fieldOf, type Reply } from "../protocols/protocol.ts";
import type { Parts } from "../rooms.ts";
import { LaneCall } from "./call.ts";

/** What the lane is given by the server. */
export type LaneParts = Pick<Parts, "operations" | "rules" | "newCall" | "refused" | "limits"> & {
  /** Headers that go with every answer to a request, such as those for browsers. */
  readonly also?: (headers: Fields) => Readonly<Record<string, string>>;
  /** Whether gRPC, gRPC-Web and Connect may take the lane as well. */
  readonly protocols?: boolean;
};

/** An operation that answers once. */
export type UnaryOperation = Extract<Operation, { kind: "unary" }>;

/** How the message of a request is read and that of an answer is written. */
export type Format = {
  readonly decode: (bytes: Uint8Array) => Message;
  readonly encode: (answer: Message) => Uint8Array | string;
};

/** A request that the lane has taken, before its body. */
export type Arrival = {
  readonly operation: UnaryOperation;
  readonly dialect: Dialect;
  readonly format: Format;
  readonly headers: Fields;
  /** Whether the answer is to be sent without its body: HEAD. */
  readonly bare: boolean;
  /** Counts what is held of the request. */
  readonly account: BodyAccount;
};

/** Sends an answer; does not throw when nobody is there to take it. */
export type Send = (reply: Reply, requestId: string) => void;

/** What every visit shares. */
export type Ways = Pick<LaneParts, "refused" | "limits" | "also"> & {
  readonly newCall: Parts["newCall"];
  readonly late: Deadlines<Visit>;
};

/** One call on its way through the lane. */
export type Visit = Arrival &
  Due & {
    readonly ways: Ways;
    readonly send: Send;
    readonly requestId: string;
    readonly call: LaneCall;
    encoding: Encoding | undefined;
    stage: "reading" | "running" | "over";
    deadline: NodeJS.Timeout | undefined;
    bodyTimer: NodeJS.Timeout | undefined;
  };

/** Prepares what every visit shares. */
export function waysOf({ refused, limits, also, newCall }: LaneParts): Ways {
  const shared = { refused, limits, newCall, late: deadlines(limits.deadlineMaxMs, expire) };
  return also ? { ...shared, also } : shared;
}

/** Begins a call, which always ends in time; what is wrong with its headers is answered at once. */
export function enter(ways: Ways, arrival: Arrival, send: Send): Visit {
  const { operation, dialect, format, headers, bare, account } = arrival;
  const { requestId, values } = ways.newCall();
  // Spelled out, because spreading an object costs as much as decoding a small message.
  const visit: Visit = {
    ways,
    operation,
    dialect,
    format,
    headers,
    bare,
    account,
    send,
    requestId,
    call: new LaneCall(values, headers),
    encoding: undefined,
    stage: "reading",
    deadline: undefined,
    bodyTimer: undefined,
    due: 0,
    earlier: undefined,
    later: undefined,
  };
  try {
    hurry(visit, dialect.protocol.timeout(headers));
  } catch (error) {
    fail(visit, error);
  }
  return visit;
}

/** Asks the gate of the operation, before anything of the body is read; a promise when it has to look the caller up. */
export function admitted(visit: Visit): Promise<void> | undefined {
  if (isOver(visit)) return undefined;
  try {
    const caller = visit.operation.gate(visit.call);
    if (!(caller instanceof Promise)) return void visit.account.identify(caller);
    return caller.then(
      (name) => visit.account.identify(name),
      (error) => fail(visit, error),
    );
  } catch (error) {
    return void fail(visit, error);
  }
}

/** Bounds the time for the rest of the body. */
export function awaitBody(visit: Visit): void {
  if (!isOver(visit)) visit.bodyTimer = setTimeout(tooSlow, visit.ways.limits.bodyTimeoutMs, visit);
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
  const { dialect, format, operation, encoding } = visit;
  try {
    const { message, compressed } = dialect.protocol.open(body, encoding);
    const bytes = compressed ? await inflated(visit, message) : message;
    const most = messageBytes(operation, visit.ways.limits);
    if (bytes.length > most) throw tooLarge(most);
    const request = format.decode(bytes);
    visit.account.release();
    if (isOver(visit)) return;
    visit.stage = "running";
    const answer = format.encode(await operation.unary(request, visit.call));
    const isSmall = answer.length < leastCompressed;
    const outgoing = isSmall ? { message: answer, encoding: undefined } : await packed(visit, answer);
    finish(visit, dialect.protocol.answer(outgoing, dialect.contentType));
  } catch (error) {
    // What the guards let out they have reported already.
    if (visit.stage === "running" && error instanceof ConnectError) deny(visit, error);
    else fail(visit, error);
  }
}

const isOver = ({ stage }: Visit) => stage === "over";

const refusalOf = ({ ways, call, operation }: Visit, error: unknown) => ways.refused(error, call, operation.path);

function hurry(visit: Visit, timeoutMs: number | undefined): void {
  const { late, limits } = visit.ways;
  if (timeoutMs === undefined || timeoutMs >= limits.deadlineMaxMs) late.add(visit);
  else if (timeoutMs <= 0) throw refuse.because("DEADLINE_EXCEEDED");
  else visit.deadline = setTimeout(expire, timeoutMs, visit);
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
  const known = reasonOf(refusal) === "UNSUPPORTED_ENCODING" && {
    [protocol.acceptHeader]: visit.operation.encodings.join(","),
  };
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
  const { send, requestId, ways, headers, bare } = visit;
  const marked = ways.also ? withMore(reply, ways.also(headers)) : reply;
  send(bare ? withoutBody(marked) : marked, requestId);
}

function withMore(reply: Reply, more: Reply["headers"]): Reply {
  const vary = [reply.headers.vary, more.vary].filter(Boolean).join(", ");
  return { ...reply, headers: { ...reply.headers, ...more, ...(vary && { vary }) } };
}

function withoutBody({ status, headers, body = "" }: Reply): Reply {
  return { status, headers: { ...headers, "content-length": `${Buffer.byteLength(body)}` } };
}

function close(visit: Visit): void {
  visit.stage = "over";
  visit.ways.late.drop(visit);
  clearTimeout(visit.bodyTimer);
  clearTimeout(visit.deadline);
}

function inflated({ encoding, ways, operation, account }: Visit, message: Uint8Array): Promise<Uint8Array> {
  if (!encoding) throw refuse.because("ENCODING_MISSING");
  const most = messageBytes(operation, ways.limits);
  // As much as it may become; nobody knows before.
  if (!account.take(most)) throw noRoom();
  return decompressed(encoding, message, most);
}

async function packed({ dialect, headers }: Visit, answer: Uint8Array | string) {
  const encoding = accepted(fieldOf(headers, dialect.protocol.acceptHeader));
  return { message: encoding ? await encoding.compress(answer) : answer, encoding };
}
