import type { UserJson } from "../../gen/postern/v1/user_pb.ts";

/** The name of a user for people. */
export function nameOf({ human, machine, username = "" }: UserJson): string {
  const name = human ? `${human.givenName ?? ""} ${human.familyName ?? ""}`.trim() : machine?.name;
  return name || username;
}
