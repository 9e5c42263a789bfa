import type { Command } from "./command.ts";
import { print } from "./output.ts";
import { settings } from "./settings.ts";

/** Makes the next keys that sign tokens. */
export const rotateSigningKeys: Command = {
  about: "make the next keys that sign tokens; in an emergency they sign at once",
  options: [{ name: "emergency", about: "sign by new keys at once, and withdraw all others" }],
  description: [
    "The service replaces its keys every 90 days by itself. This makes the next ones now: they are published at once, and sign a day later, when every application has read them.",
    "With --emergency, for keys that somebody else may have, the new ones sign at once on all nodes, and the others are no longer published: what they signed is refused here, and elsewhere as soon as the keys are read again, which caches may put off for five minutes. Sessions, refresh tokens and opaque access tokens go on. It needs the database and the master key, and may run beside the service.",
  ],
  examples: [["postern rotate-signing-keys --emergency", "end everything that the keys of today have signed"]],
  async run({ has }) {
    const { rotateSigningKeys: rotate } = await import("../maintenance/rotate_signing_keys.ts");
    return print(await rotate(settings(), has("emergency")));
  },
};
