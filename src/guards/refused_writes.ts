import type { Interceptor } from "@connectrpc/connect";
import { isRead, pathOf } from "@postern/gateway";
import { type Call, keys } from "../deps.ts";
import { missingPermissionOf } from "../errors.ts";
import type { NoteAttempt } from "../events/attempts.ts";
import { callOf, type Next, type Request } from "./interceptor.ts";

/** Notes calls that would have changed something, but whose callers lack a permission. */
export const refusedWrites =
  (noteAttempt: NoteAttempt<Call>): Interceptor =>
  (next) =>
  (request) =>
    isRead(request.method) ? next(request) : noted(request, next, noteAttempt);

async function noted(request: Request, next: Next, noteAttempt: NoteAttempt<Call>) {
  try {
    // Awaited here: the checks that need no database throw at once.
    return await next(request);
  } catch (error) {
    const permission = missingPermissionOf(error);
    const call = callOf(request);
    const caller = call.values.get(keys.caller);
    if (permission !== undefined && caller) {
      const operation = pathOf(request.method).slice(1);
      const about = { owner: caller.organization, id: caller.userId };
      noteAttempt({ case: "permissionRefused", value: { operation, permission } }, about, call);
    }
    throw error;
  }
}
