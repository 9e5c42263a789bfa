import type { No } from "./batch_refusal.ts";

const reasonsOfInactive = { organization: "ORGANIZATION_INACTIVE", project: "PROJECT_INACTIVE" } as const;

/** Makes the refusal of a deactivated organization or project. */
export function inactive(noun: keyof typeof reasonsOfInactive, id: string, field: string): No {
  const reason = reasonsOfInactive[noun];
  const violations = [{ field, description: `${noun} ${id} is deactivated`, reason }];
  return { reason, field, params: { id }, violations, resource: { noun, id } };
}
