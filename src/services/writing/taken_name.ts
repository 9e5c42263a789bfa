import type { Refusal, Violation } from "../../errors.ts";
import type { No } from "../writing/batch_refusal.ts";

type TakenReason =
  | "LOGIN_NAME_TAKEN"
  | "ORGANIZATION_NAME_TAKEN"
  | "PROJECT_NAME_TAKEN"
  | "ROLE_TAKEN"
  | "APPLICATION_NAME_TAKEN";

export type TakenName = Pick<Refusal, "params" | "resource"> & {
  readonly reason: TakenReason;
  readonly field: string;
  readonly name: string;
};

export function takenName({ reason, field, name, params, resource }: TakenName): No {
  const violations: Violation[] = [{ field, text: reason, params: { name }, reason }];
  return { reason, field, params: { name, ...params }, violations, ...(resource && { resource }) };
}

/** SQL for the form in which people distinguish names; every table of named objects has an index on it. */
export const asRead = (name: string): string => `as_read(folded(${name}))`;
