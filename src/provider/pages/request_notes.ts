import type { ContextValues } from "@connectrpc/connect";
import { keys } from "../../deps.ts";
import { reasonOf } from "../../errors.ts";
import { isStatementTimeout, isUnavailable } from "../../postgres/failure.ts";
import { OauthError } from "../http/oauth_error.ts";
import { PageError } from "./page_error.ts";

/** Records, for the request's log line, the client that the request was proven to come from. */
export function noteClient(values: ContextValues, { clientId }: { readonly clientId: string }): void {
  values.set(keys.clientId, clientId);
}

/** Records, for the request's log line, why a request failed, or an error that no client caused. */
export function noteFailure(values: ContextValues, reason: string, error: unknown): void {
  if (isRefusal(error)) values.set(keys.failure, { reason, level: "info", cause: causeOfRefusal(error) });
  else values.set(keys.failure, { reason, level: isOutage(error) ? "warn" : "error", cause: error });
}

const causeOfRefusal = (error: unknown) => (error instanceof OauthError ? error.cause : undefined);

/** Records why a form is shown again. */
export function noteRefusal(values: ContextValues, error: unknown): void {
  values.set(keys.failure, { reason: reasonOf(error) ?? "UNKNOWN", level: "info" });
}

const isRefusal = (error: unknown): boolean =>
  error instanceof OauthError || error instanceof PageError || (reasonOf(error) ?? "INTERNAL") !== "INTERNAL";

/** Whether the database is unavailable or too slow. */
export const isOutage = (error: unknown): boolean => isUnavailable(error) || isStatementTimeout(error);
