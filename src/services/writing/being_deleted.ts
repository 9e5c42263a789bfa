import type { No } from "./batch_refusal.ts";

/** Makes the refusal of a key whose last owner a job still deletes: whoever held that one must not have the new one. */
export function beingDeleted(field: string): No {
  const reason = "BEING_DELETED";
  return { reason, field, violations: [{ field, text: reason, reason }] };
}
