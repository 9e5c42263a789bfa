import type { Interceptor } from "@connectrpc/connect";
import { isRead, pathOf } from "@postern/gateway";
import { type Call, keys } from "../deps.ts";
import { missingPermissionOf } from "../errors.ts";
import type { NoteAttempt } from "../events/attempts.ts";
import { callOf } from "./interceptor.ts";

/** Notes calls that would have changed something, but whose callers lack a permission. */
export const refusedWrites =
  (noteAttempt: NoteAttempt<Call>): Interceptor =>
  (next) =>
  (request) => {
    if (isRead(request.method)) return next(request);
    return next(request).catch((error: unknown) => {
      const permission = missingPermissionOf(error);
      const call = callOf(request);
      const caller = call.values.get(keys.caller);
      if (permission !== undefined && caller) {
        const operation = pathOf(request.method).slice(1);
        const about = { owner: caller.organization, id: caller.userId };
        noteAttempt({ case: "permissionRefused", value: { operation, permission } }, about, call);
      }
      throw error;
    });
  };
