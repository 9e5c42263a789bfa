import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { codeName } from "../../../errors.ts";
import type { Observe } from "./calls.ts";

/** Counts the calls of services that are no operations of ours. */
export function counted(observe: Observe): Interceptor {
  return (next) => async (request) => {
    const { service, method, header, signal } = request;
    const ended = observe(`/${service.typeName}/${method.name}`, header);
    const begun = performance.now();
    const end = once((code) => ended(code, performance.now() - begun));
    // A client that leaves early may leave an answer that nobody reads.
    signal.addEventListener("abort", () => end(codeName(Code.Canceled)));
    try {
      const answer = await next(request);
      if (answer.stream) return { ...answer, message: heeded(answer.message, end) };
      end("OK");
      return answer;
    } catch (error) {
      end(codeOf(error));
      throw error;
    }
  };
}

type End = (code: string) => void;

function once(end: End): End {
  let over = false;
  return (code) => {
    if (!over) end(code);
    over = true;
  };
}

async function* heeded<T>(messages: AsyncIterable<T>, end: End): AsyncIterable<T> {
  try {
    yield* messages;
    end("OK");
  } catch (error) {
    end(codeOf(error));
    throw error;
  } finally {
    end(codeName(Code.Canceled));
  }
}

const codeOf = (error: unknown): string => codeName(ConnectError.from(error).code);
