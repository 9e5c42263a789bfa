import type { Refusal, Violation } from "../../errors.ts";
import type { No } from "../writing/batch_refusal.ts";

/** The reasons why a name is refused because another object has it. */
type TakenReason =
  | "LOGIN_NAME_TAKEN"
  | "ORGANIZATION_NAME_TAKEN"
  | "PROJECT_NAME_TAKEN"
  | "ROLE_TAKEN"
  | "APPLICATION_NAME_TAKEN";

/** A name that another object has, and the path to it in the request. */
export type TakenName = Pick<Refusal, "params" | "resource"> & {
  readonly reason: TakenReason;
  readonly field: string;
  readonly name: string;
};

/** Makes the refusal of a name that is taken. */
export function takenName({ reason, field, name, params, resource }: TakenName): No {
  const violations: Violation[] = [{ field, text: reason, params: { name }, reason }];
  return { reason, field, params: { name, ...params }, violations, ...(resource && { resource }) };
}

/** The form of a name, in SQL, by which people tell names apart: an index of each table of named objects has it. */
export const asRead = (name: string): string => `as_read(folded(${name}))`;
