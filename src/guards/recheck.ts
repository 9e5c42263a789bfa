import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { once } from "@postern/gateway";
import {
  callOf,
  messageOf,
  type Next,
  type Request,
  type Step,
  type StreamRequest,
  withMessages,
} from "./interceptor.ts";

/** The time after which a call's token and roles have to be checked again. */
export const recheckMs = 1000;

type StepOf = (method: Request["method"]) => Step;

/** Repeats the checks of a call. */
export type CheckAgain = (request: Request, message: Message) => Promise<void>;

export const checkAgain =
  (steps: readonly StepOf[]): CheckAgain =>
  async (request, message) => {
    const call = callOf(request);
    for (const step of steps) await step(request.method)(message, call);
  };

/** Repeats the checks for a stream before sending a message, at most once a second, because it may outlive its token and roles. */
export const rechecked =
  (check: CheckAgain): Interceptor =>
  (next) =>
  (request) =>
    request.stream ? recheckedStream(check, request, next) : next(request);

async function recheckedStream(check: CheckAgain, request: StreamRequest, next: Next) {
  const message = await messageOf(request);
  const response = await next({ ...request, message: once(message) });
  if (!response.stream) return response;
  return withMessages(
    response,
    eachChecked(response.message, () => check(request, message)),
  );
}

async function* eachChecked<T>(messages: AsyncIterable<T>, check: () => Promise<void>): AsyncGenerator<T> {
  let last = performance.now();
  for await (const message of messages) {
    if (performance.now() - last > recheckMs) {
      await check();
      last = performance.now();
    }
    yield message;
  }
}
