import type { JsonObject } from "@bufbuild/protobuf";
import { type Call, ownsInstance } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";

const params = { permission: "instance.write" };

/** Refuses the first-party mark to all callers but owners of the instance; `field` is its path in the request. */
export function refuseMark(call: Call, field: string): void {
  if (ownsInstance(call)) return;
  const violations: Violation[] = [{ field, text: "ONLY_INSTANCE_OWNER", reason: "FIRST_PARTY_MARK" }];
  throw refuse.because("PERMISSION_DENIED", { params, violations });
}

/** Refuses a change of a first-party application that could bring its users' tokens elsewhere, to all but owners of the instance. */
export function refuseFirstParty({ firstParty }: JsonObject, call: Call): void {
  if (firstParty === true && !ownsInstance(call)) throw refuse.because("PERMISSION_DENIED", { params });
}
