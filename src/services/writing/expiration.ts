import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { Violation } from "../../errors.ts";

/** Finds an expiration date that has passed; without one, nothing expires. */
export function pastExpiration(expirationDate: Timestamp | undefined, now: Date): readonly Violation[] {
  if (expirationDate === undefined || timestampDate(expirationDate) > now) return [];
  return [{ field: "expirationDate", text: "TIME_FUTURE", reason: "EXPIRATION_PAST" }];
}
