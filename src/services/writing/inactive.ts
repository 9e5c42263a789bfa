import type { Violation } from "../../errors.ts";
import type { No } from "./batch_refusal.ts";

const reasonsOfInactive = { organization: "ORGANIZATION_INACTIVE", project: "PROJECT_INACTIVE" } as const;
const texts = { organization: "ORGANIZATION_INACTIVE", project: "PROJECT_DEACTIVATED" } as const;

export function inactive(noun: keyof typeof reasonsOfInactive, id: string, field: string): No {
  const reason = reasonsOfInactive[noun];
  const params = { id };
  const violations: Violation[] = [{ field, text: texts[noun], params, reason }];
  return { reason, field, params, violations, resource: { noun, id } };
}
