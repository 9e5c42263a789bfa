import { createHash } from "node:crypto";

/**
 * Makes the id of a user whose line has none, out of its organization and name: an import that runs again makes the same id, and
 * finds the user. Lines of grants name such a user by its username.
 */
export function userIdFor(organization: string, username: string): string {
  const name = username.normalize("NFKC").toLowerCase();
  const bytes = createHash("sha256")
    .update(JSON.stringify([organization, name]))
    .digest();
  return bytes.toString("base64url").slice(0, 32);
}
