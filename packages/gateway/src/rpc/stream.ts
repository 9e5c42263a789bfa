import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { refuse } from "../../../../src/errors.ts";
import { encodeJson } from "../codec/json.ts";
import { begun, type Call, type Operation } from "./operations.ts";
import { problem } from "./protocols/json_error.ts";
import { type Framing, framingFor, resume } from "./protocols/json_stream.ts";
import type { Answer, Located } from "./request.ts";

/** A stream of answers that a client asked for. */
export type Streaming = {
  /** Turns what went wrong outside the guards into a refusal. */
  readonly refused: (error: unknown, call: Call, operation: string) => ConnectError;
  readonly asked: Located;
  readonly call: Call;
  readonly operation: Extract<Operation, { kind: "stream" }>;
  readonly request: Message;
};

/** Answers with each message as it comes, as lines of JSON or server-sent events; what ends it early is the last of them. */
export async function stream({ refused, asked, call, operation, request }: Streaming): Promise<Answer> {
  const framing = framingFor(asked);
  resume(operation.method.input, request, asked);
  const { promise: begins, resolve } = Promise.withResolvers<void>();
  call.values.set(begun, resolve);
  const unread = new AbortController();
  const signal = AbortSignal.any([asked.signal, asked.stopping, unread.signal]);
  const answers = operation.stream(request, { ...call, signal })[Symbol.asyncIterator]();
  const first = answers.next();
  // A refusal before the first message is an ordinary answer, and a stream without any must not hold back its headers.
  await Promise.race([first, begins.then(nextTurn)]);
  const settled = await Promise.race([first, nextTurn()]);
  const headers = { "content-type": framing.contentType };
  if (asked.method === "HEAD") {
    unread.abort();
    first.then(() => answers.return?.()).catch(() => {});
    return { status: 200, headers, body: "" };
  }
  const body = framed({ refused, asked, call, operation, request }, { framing, answers, first: settled ?? first });
  return { status: 200, headers, body };
}

type Running = {
  readonly framing: Framing;
  readonly answers: AsyncIterator<Message>;
  readonly first: IteratorResult<Message> | Promise<IteratorResult<Message>>;
};

async function* framed(
  { refused, asked, call, operation }: Streaming,
  { framing, answers, first }: Running,
): AsyncGenerator<string> {
  let next = Promise.resolve(first);
  try {
    while (true) {
      const at = framing.beat ? await orSilence(next) : await next;
      if (at?.done) break;
      yield at ? framing.message(encodeJson(operation.method.output, at.value)) : (framing.beat ?? "");
      if (at) next = answers.next();
    }
    if (asked.stopping.aborted) throw refuse.because("UNAVAILABLE");
  } catch (thrown) {
    const error = asked.stopping.aborted
      ? refuse.because("UNAVAILABLE")
      : thrown instanceof ConnectError
        ? thrown
        : refused(thrown, call, operation.path);
    yield framing.error(problem(error).body);
  } finally {
    await answers.return?.();
  }
}

const longestSilenceMs = 15_000;

/** What comes, or nothing after a while. */
async function orSilence<T>(next: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), longestSilenceMs);
  return Promise.race([next, promise]).finally(() => clearTimeout(timer));
}

const nextTurn = () => new Promise<undefined>((resolve) => setImmediate(resolve, undefined));
