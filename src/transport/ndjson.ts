import type { Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { refuse } from "../errors.ts";
import type { Answer, Located } from "./exchange.ts";
import { encodeJson } from "./json.ts";
import { begun, type Call, type Operation } from "./operations.ts";
import { problem } from "./problem.ts";
import type { Parts } from "./rooms.ts";

/** A stream of answers that a client asked for. */
export type Streaming = {
  readonly parts: Parts;
  readonly asked: Located;
  readonly call: Call;
  readonly operation: Extract<Operation, { kind: "stream" }>;
  readonly request: Message;
};

/** Answers with one line of JSON for each message; what ends it early is the last line, as `{"error": …}`. */
export async function ndjson({ parts, asked, call, operation, request }: Streaming): Promise<Answer> {
  const { promise: begins, resolve } = Promise.withResolvers<void>();
  call.values.set(begun, resolve);
  const unread = new AbortController();
  const signal = AbortSignal.any([asked.signal, asked.stopping, unread.signal]);
  const answers = operation.stream(request, { ...call, signal })[Symbol.asyncIterator]();
  const first = answers.next();
  // A refusal before the first message is an ordinary answer, and a stream without any must not hold back its headers.
  await Promise.race([first, begins.then(nextTurn)]);
  const settled = await Promise.race([first, nextTurn()]);
  const headers = { "content-type": "application/x-ndjson" };
  if (asked.method === "HEAD") {
    unread.abort();
    first.then(() => answers.return?.()).catch(() => {});
    return { status: 200, headers, body: "" };
  }
  const body = lines({ parts, asked, call, operation, request }, { answers, first: settled ?? first });
  return { status: 200, headers, body };
}

type Running = {
  readonly answers: AsyncIterator<Message>;
  readonly first: IteratorResult<Message> | Promise<IteratorResult<Message>>;
};

async function* lines(
  { parts, asked, call, operation }: Streaming,
  { answers, first }: Running,
): AsyncGenerator<string> {
  try {
    for (let at = await first; !at.done; at = await answers.next())
      yield `${JSON.stringify(encodeJson(operation.method.output, at.value))}\n`;
    if (asked.stopping.aborted) throw refuse.because("UNAVAILABLE");
  } catch (thrown) {
    const error = asked.stopping.aborted
      ? refuse.because("UNAVAILABLE")
      : thrown instanceof ConnectError
        ? thrown
        : parts.refused(thrown, call, operation.path);
    yield `{"error":${problem(error).body}}\n`;
  } finally {
    await answers.return?.();
  }
}

const nextTurn = () => new Promise<undefined>((resolve) => setImmediate(resolve, undefined));
