import type { ResourceScope } from "../../../gen/postern/v1/application_pb.ts";
import type { Violation } from "../../errors.ts";
import { isReservedScope } from "../callers/scopes.ts";

/** Finds scopes of an API with a reserved name, or with a name that another scope has. */
export function scopeViolations(scopes: readonly ResourceScope[], path: string): Violation[] {
  const names = scopes.map(({ name }) => name);
  return names.flatMap((name, at): Violation[] => {
    const field = `${path}scopes[${at}].name`;
    const earlier = names.indexOf(name);
    const params = { other: `${path}scopes[${earlier}].name` };
    return [
      ...(isReservedScope(name) ? [{ field, text: "SCOPE_RESERVED", reason: "SCOPE_RESERVED" } as const] : []),
      ...(earlier < at ? [{ field, text: "ITEM_REPEATED", params, reason: "REPEATED" } as const] : []),
    ];
  });
}
