import type { Violation } from "../../errors.ts";

// RFC 5321, 4.5.3.1.1; the field rule keeps the whole address within the 254 octets of a path.
const longestLocalPart = 64;

/** Refuses an address whose part before the @ is accepted by no mail server: RFC 5321, 4.1.2, without quoted strings. */
export function wrongInEmail(email: string): Violation[] {
  const local = email.slice(0, email.lastIndexOf("@"));
  const isAtoms = local.split(".").every((atom) => atom !== "");
  if (local.length <= longestLocalPart && isAtoms) return [];
  return [{ field: "email", text: "EMAIL_LOCAL_PART", params: { max: longestLocalPart }, reason: "EMAIL_INVALID" }];
}
