import type { No } from "./batch_refusal.ts";

/** Makes the error for a key that a job is still deleting: holders of the old one must not get the new one. */
export function beingDeleted(field: string): No {
  const reason = "BEING_DELETED";
  return { reason, field, violations: [{ field, text: reason, reason }] };
}
