import { setTimeout as pause } from "node:timers/promises";
import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../deps.ts";
import { reasonOf } from "../errors.ts";

type Unary = (request: Message, call: Call) => Promise<object>;

const tries = 8;
const longestPauseMs = 20;

/** Runs a command again from its read when it lost a race, a bounded number of times. */
export function retry(next: Unary): Unary {
  return async (request, call) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await next(request, call);
      } catch (error) {
        if (reasonOf(error) !== "CONFLICT" || attempt === tries || call.signal.aborted) throw error;
        await pause(Math.random() * longestPauseMs * attempt);
      }
    }
  };
}
