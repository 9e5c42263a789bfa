import { createHash } from "node:crypto";

/**
 * Derives an id from organization and username for a user whose line has none, so that running the import again yields the same id and
 * finds the user. Grant lines name such users by username.
 */
export function userIdFor(organization: string, username: string): string {
  const name = username.normalize("NFKC").toLowerCase();
  const bytes = createHash("sha256")
    .update(JSON.stringify([organization, name]))
    .digest();
  return bytes.toString("base64url").slice(0, 32);
}
