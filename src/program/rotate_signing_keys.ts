import type { Command } from "./command.ts";
import { print } from "./output.ts";
import { settings } from "./settings.ts";

/** Makes the next keys that sign tokens. */
export const rotateSigningKeys: Command = {
  about: "create the next keys that sign tokens, or, in an emergency, keys that sign at once",
  options: [{ name: "emergency", about: "sign with new keys at once and withdraw all others" }],
  description: [
    "The service replaces its keys every 90 days by itself. This command creates the next ones now. They are published at once and start signing a day later, when every application has read them.",
    "Use --emergency if somebody else may have a key. The new keys then sign at once on all nodes, and all others are withdrawn. Postern refuses whatever the withdrawn keys signed; applications do so once they read the keys again, which caches can delay by five minutes. Sessions, refresh tokens and opaque access tokens remain valid. The command needs the database and the master key, and can run while the service is running.",
  ],
  examples: [["postern rotate-signing-keys --emergency", "invalidate everything that the current keys have signed"]],
  async run({ has }) {
    const { rotateSigningKeys: rotate } = await import("../maintenance/rotate_signing_keys.ts");
    return print(await rotate(settings(), has("emergency")));
  },
};
