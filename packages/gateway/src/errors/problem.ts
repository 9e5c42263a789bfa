import { GatewayError } from "./gateway_error.ts";
import type { Problem } from "./problem_texts.ts";

type BodyProblem = Exclude<Problem, "HEADER_MALFORMED" | "QUERY_MALFORMED" | "MESSAGE_COUNT">;
type Params = Readonly<Record<string, string | number>>;

/** The error for an unreadable body, saying why. */
export function unreadable(problem: BodyProblem, params: Params = {}, cause?: unknown): GatewayError {
  const texts = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
  return new GatewayError("MALFORMED_BODY", { params: { problem, ...texts }, cause });
}

/** The error for a call with no message, or more than one, where one is expected (https://grpc.io/docs/guides/status-codes). */
export const wrongCount = (): GatewayError =>
  new GatewayError("UNIMPLEMENTED", { params: { problem: "MESSAGE_COUNT" } });

/** The error for an unreadable header, naming it. */
export const wrongHeader = (header: string, cause?: unknown): GatewayError =>
  new GatewayError("MALFORMED_REQUEST", { params: { problem: "HEADER_MALFORMED", header }, cause });
