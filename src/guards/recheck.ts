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

/** Repeats the checks for a stream before sending a message, at most once a second, because it may outlive its token and roles. */
export const rechecked =
  (steps: readonly StepOf[]): Interceptor =>
  (next) =>
  (request) =>
    request.stream ? recheckedStream(steps, request, next) : next(request);

async function recheckedStream(steps: readonly StepOf[], request: StreamRequest, next: Next) {
  const message = await messageOf(request);
  const response = await next({ ...request, message: once(message) });
  const call = callOf(request);
  const check = async () => {
    for (const step of steps) await step(request.method)(message, call);
  };
  return response.stream ? withMessages(response, eachChecked(response.message, check)) : response;
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
