import { errorJson, httpStatusOf } from "@postern/gateway";
import { refuse } from "../errors.ts";

/** One error body per HTTP status, as a client receives it. */
export function errorExamples(): ReadonlyMap<number, unknown> {
  const later = { retrySeconds: 6 };
  const refusals = [
    refuse.invalid([{ field: "phone", text: "FIELD_REQUIRED", reason: "REQUIRED" }]),
    refuse.because("TOKEN_INVALID"),
    refuse.because("PERMISSION_DENIED", { params: { permission: "user.write" } }),
    refuse.notFound("user", "nobody"),
    refuse.because("USER_GRANT_EXISTS", {
      params: { id: "06gzt1sb1b0c39dddvecst9k" },
      resource: { noun: "user_grant", id: "06gzt1sb1b0c39dddvecst9k" },
    }),
    refuse.because("BODY_TOO_LARGE", { params: { limit: "16384" } }),
    refuse.because("UNSUPPORTED_CONTENT_TYPE", { params: { supported: "application/json" } }),
    refuse.because("RATE_LIMIT", { params: { limit: "caller" }, ...later }),
    refuse.because("HEADERS_TOO_LARGE"),
    refuse.because("INTERNAL"),
    refuse.because("UNAVAILABLE", later),
    refuse.because("DEADLINE_EXCEEDED"),
  ];
  return new Map(refusals.map((refusal) => [httpStatusOf(refusal), errorJson(refusal)]));
}
