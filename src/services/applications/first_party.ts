import type { JsonObject } from "@bufbuild/protobuf";
import { type Call, ownsInstance } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";

const params = { permission: "instance.write" };

/** Lets only owners of the instance set the first-party mark; `field` is its path in the request. */
export function refuseMark(call: Call, field: string): void {
  if (ownsInstance(call)) return;
  const violations: Violation[] = [{ field, text: "ONLY_INSTANCE_OWNER", reason: "FIRST_PARTY_MARK" }];
  throw refuse.because("PERMISSION_DENIED", { params, violations });
}

/** Lets only owners of the instance change a first-party application where the change could send its users' tokens elsewhere. */
export function refuseFirstParty({ firstParty }: JsonObject, call: Call): void {
  if (firstParty === true && !ownsInstance(call)) throw refuse.because("PERMISSION_DENIED", { params });
}
