import { Writable } from "node:stream";
import { create, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import pino from "pino";
import { expect, test } from "vitest";
import { BadRequestSchema, LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { AuthorizationService } from "../../gen/postern/v1/authorization_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { ChangePhoneRequestSchema, UserService } from "../../gen/postern/v1/user_pb.ts";
import { once } from "../../packages/gateway/src/rpc/pipeline.ts";
import { errorJson } from "../../packages/gateway/src/rpc/protocols/json.ts";
import { type Call, keys } from "../../src/deps.ts";
import { reasonOf, refuse } from "../../src/errors.ts";
import { report } from "../../src/guards/report.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";
import { isStatementTimeout, isUnavailable } from "../../src/postgres/failure.ts";

const request = create(ChangePhoneRequestSchema, { phone: "+41791234567" });

/** A report whose log lines are kept. */
function kept() {
  const lines: Record<string, unknown>[] = [];
  const write = (chunk: Buffer, _encoding: string, next: () => void) => {
    lines.push(JSON.parse(chunk.toString()));
    next();
  };
  const logger = pino({ base: null }, new Writable({ write }));
  return { lines, ...report({ logger, languageOf: chooseLanguage, outages: { isUnavailable, isStatementTimeout } }) };
}

type Handler = (call: Call) => object;

/** A call of a unary rpc through the interceptor of a report. */
async function unary({ interceptor }: ReturnType<typeof kept>, handler: Handler, call: Call): Promise<void> {
  const { changePhone: method } = UserService.method;
  const next = async () => {
    await handler(call);
    return responseOf({ stream: false, method, message: create(method.output) });
  };
  await interceptor(next)(requestOf(call, { stream: false, method, message: request }));
}

/** The responses of a stream through the interceptor of a report. */
async function* stream({ interceptor }: ReturnType<typeof kept>, handler: () => AsyncIterable<Message>) {
  const { watchEvents: method } = EventService.method;
  const next = async () => responseOf({ stream: true, method, message: handler() });
  const parts = { stream: true, method, message: once(create(method.input)) } as const;
  const response = await interceptor(next)(requestOf(callWith(), parts));
  if (response.stream) yield* response.message;
}

type Parts = Pick<UnaryRequest, "stream" | "method" | "message"> | Pick<StreamRequest, "stream" | "method" | "message">;

const requestOf = ({ values, signal, requestHeader }: Call, parts: Parts) => ({
  ...parts,
  service: parts.method.parent,
  requestMethod: "POST",
  url: "http://localhost",
  header: requestHeader as Headers,
  contextValues: values,
  signal,
});

const responseOf = (parts: Parts) => ({
  ...parts,
  service: parts.method.parent,
  header: new Headers(),
  trailer: new Headers(),
});

function callWith({
  signal = new AbortController().signal,
  ...headers
}: { signal?: AbortSignal } & Record<string, unknown> = {}): Call {
  const values = createContextValues().set(keys.requestId, "r1");
  const caller = { userId: "u1", organization: "o1", memberships: [] };
  const requestHeader = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return { values: values.set(keys.caller, caller), signal, requestHeader };
}

async function failing(error: unknown, call = callWith()) {
  const reports = kept();
  const { lines } = reports;
  const thrown = await unary(reports, () => Promise.reject(error), call).then(
    () => undefined,
    (refusal: unknown) => refusal,
  );
  if (!(thrown instanceof ConnectError)) throw new Error("it was not refused");
  return { thrown, line: lines[0] ?? {}, lines };
}

test("calls that fail with one error each get its text in their own language", async () => {
  const error = refuse.invalid([{ field: "phone", text: "PHONE_INVALID" }]);
  const texts = [];
  for (const language of ["de", "fr"]) {
    const { thrown } = await failing(error, callWith({ "accept-language": language }));
    const [violation] = thrown.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
    texts.push([
      thrown.findDetails(LocalizedMessageSchema).map(({ locale }) => locale),
      violation?.localizedMessage?.locale,
    ]);
  }
  expect(texts).toEqual([
    [["de"], "de"],
    [["fr"], "fr"],
  ]);
});

test("the line of a decision has the caller's own request id beside ours, and no other line has", async () => {
  for (const [method, named] of [
    [AuthorizationService.method.evaluate, "bfe9 eb29"],
    [UserService.method.changePhone, undefined],
  ] as const) {
    const reports = kept();
    const call = callWith({ "x-request-id": "bfe9 eb29" });
    await reports.atGate(() => {})({ ...call, method } as unknown as Parameters<ReturnType<typeof reports.atGate>>[0]);
    await unary(reports, () => ({}), call);
    expect(reports.lines).toMatchObject([{ requestId: "r1", ...(named && { callerRequestId: named }) }]);
    expect(Object.keys(reports.lines[0] ?? {}).includes("callerRequestId")).toBe(named !== undefined);
  }
});

test("a call that ends well is one line: operation, code, duration, caller and request id, and nothing else", async () => {
  const reports = kept();
  await unary(reports, () => ({}), callWith({ authorization: "Bearer secret" }));
  expect(reports.lines).toEqual([
    {
      ...{ level: 30, time: expect.any(Number), msg: "call", code: "OK" },
      ...{
        operation: "/postern.v1.UserService/ChangePhone",
        durationMs: expect.any(Number),
        caller: "u1",
        requestId: "r1",
      },
    },
  ]);
});

test("a refusal of ours passes as it is", async () => {
  const refusal = refuse.because("PHONE_UNCHANGED");
  const { thrown, line, lines } = await failing(refusal);
  expect(thrown).toBe(refusal);
  expect([lines.length, line.code, line.reason, line.level]).toEqual([1, "FAILED_PRECONDITION", "PHONE_UNCHANGED", 30]);
});

const private_ = "insert of +41791234567 failed";

for (const [what, error] of [
  ["an error", new Error(private_)],
  ["a text", private_],
  ["nothing at all", undefined],
  ["a ConnectError that is not ours", new ConnectError(private_, Code.NotFound)],
  ["an AbortError of somebody else", new DOMException(private_, "AbortError")],
  ["a TimeoutError of somebody else", new DOMException(private_, "TimeoutError")],
] as const) {
  test(`${what} is INTERNAL, and its text stays in the log, tied by the request id`, async () => {
    const { thrown, line } = await failing(error);
    expect([thrown.code, reasonOf(thrown)]).toEqual([Code.Internal, "INTERNAL"]);
    expect(JSON.stringify([thrown.message, errorJson(thrown)])).not.toContain(private_);
    expect([line.level, line.code, line.requestId]).toEqual([50, "INTERNAL", "r1"]);
    if (error) expect(JSON.stringify(line.error)).toContain(private_);
  });
}

test("of a database error only name, message, stack and code are logged", async () => {
  const error = Object.assign(new Error("violates"), {
    code: "23502",
    detail: "(ada, $argon2)",
    parameters: ["$argon2"],
  });
  const { line } = await failing(new Error("outer", { cause: error }));
  expect(line.error).toMatchObject({ message: "outer", cause: { message: "violates", code: "23502" } });
  expect(JSON.stringify(line)).not.toContain("argon2");
});

test("what a refusal was caused by is in the log", async () => {
  const { line } = await failing(refuse.because("UNAVAILABLE", { cause: new Error("57P01") }));
  expect(line).toMatchObject({ level: 40, reason: "UNAVAILABLE", error: { message: "57P01" } });
});

test("a client that goes away is CANCELLED", async () => {
  const signal = AbortSignal.abort();
  for (const error of [signal.reason, new DOMException("stop", "AbortError")]) {
    const { thrown, line } = await failing(error, callWith({ signal }));
    expect([thrown.code, line.code, line.level]).toEqual([Code.Canceled, "CANCELED", 30]);
  }
});

test("a deadline that passes is DEADLINE_EXCEEDED", async () => {
  const late = new DOMException("late", "TimeoutError");
  for (const reason of [late, new ConnectError("late", Code.DeadlineExceeded)]) {
    const signal = AbortSignal.abort(reason);
    for (const error of [reason, new DOMException("stop", "AbortError")]) {
      const { thrown } = await failing(error, callWith({ signal }));
      expect(reasonOf(thrown)).toBe("DEADLINE_EXCEEDED");
    }
  }
});

test("a bug that shows while the client goes away is still INTERNAL", async () => {
  const { thrown } = await failing(new TypeError("bug"), callWith({ signal: AbortSignal.abort() }));
  expect(thrown.code).toBe(Code.Internal);
});

test("accept-language adds the text in that language, also to what was unexpected, and English stays the message", async () => {
  const call = callWith({ "accept-language": "de-CH, en;q=0.5" });
  for (const error of [refuse.because("PHONE_UNCHANGED"), new Error("x")]) {
    const { thrown } = await failing(error, call);
    expect(thrown.findDetails(LocalizedMessageSchema)[0]?.locale).toBe("de");
  }
  expect(call.values.get(keys.language)).toBe("de");
  expect(
    (await failing(new Error("x"), callWith({ "accept-language": "ja" }))).thrown.findDetails(LocalizedMessageSchema),
  ).toEqual([]);
});

test("what goes wrong before an operation begins is reported the same way", () => {
  const { onError, lines } = kept();
  const call = callWith({ "accept-language": "fr" });
  const refusal = onError(refuse.because("MALFORMED_BODY"), failed(call, "/postern.v1.UserService/GetUser"));
  expect(refusal.findDetails(LocalizedMessageSchema)[0]?.locale).toBe("fr");
  expect(lines).toMatchObject([{ operation: "/postern.v1.UserService/GetUser", reason: "MALFORMED_BODY" }]);
});

test("a call that is refused while its handler runs is one line, however the handler ends", async () => {
  const late = refuse.because("DEADLINE_EXCEEDED");
  for (const end of [() => ({}), () => Promise.reject(new DOMException("late", "TimeoutError"))]) {
    const reports = kept();
    const gate = Promise.withResolvers<void>();
    const call = callWith({ signal: AbortSignal.abort(new DOMException("late", "TimeoutError")) });
    const answer = unary(reports, () => gate.promise.then(end), call);
    const refusal = reports.onError(late, failed(call, "/postern.v1.UserService/ChangePhone"));
    expect(reasonOf(refusal)).toBe("DEADLINE_EXCEEDED");
    gate.resolve();
    await answer.catch(() => {});
    expect(reports.lines).toMatchObject([{ code: "DEADLINE_EXCEEDED" }]);
  }
});

test("a bug that shows after the deadline is in the log as well", async () => {
  const reports = kept();
  const { lines } = reports;
  const gate = Promise.withResolvers<object>();
  const call = callWith();
  const answer = unary(reports, () => gate.promise, call);
  reports.onError(refuse.because("DEADLINE_EXCEEDED"), failed(call, "/postern.v1.UserService/ChangePhone"));
  gate.reject(new TypeError("bug"));
  await answer.catch(() => {});
  expect(lines).toMatchObject([{ code: "DEADLINE_EXCEEDED" }, { code: "INTERNAL", error: { message: "bug" } }]);
});

const failed = ({ values, signal, requestHeader }: Call, operation: string) => ({
  values,
  signal,
  requestHeader: requestHeader as Headers,
  operation,
});

const { output: watched } = EventService.method.watchEvents;

const watching = (handler: () => AsyncIterable<Message>) => {
  const reports = kept();
  return { lines: reports.lines, messages: stream(reports, handler) };
};

test("a stream is one line when it ends", async () => {
  const { messages, lines } = watching(async function* () {
    yield create(watched);
    yield create(watched, { event: { objectId: "2" } });
  });
  expect(await all(messages)).toMatchObject([{}, { event: { objectId: "2" } }]);
  expect(lines).toMatchObject([{ operation: "/postern.v1.EventService/WatchEvents", code: "OK" }]);
});

test("a stream that fails is refused, in one line", async () => {
  const { messages, lines } = watching(async function* () {
    yield create(watched);
    throw new Error("private");
  });
  await expect(all(messages)).rejects.toMatchObject({ code: Code.Internal });
  expect(lines).toMatchObject([{ code: "INTERNAL" }]);
});

test("a stream that its reader leaves is CANCELLED, in one line", async () => {
  const { messages, lines } = watching(async function* () {
    yield create(watched);
    yield create(watched);
  });
  for await (const _ of messages) break;
  expect(lines).toMatchObject([{ code: "CANCELED", reason: "CANCELLED" }]);
});

async function all<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const got: T[] = [];
  for await (const message of messages) got.push(message);
  return got;
}
