import { type Command, exitCodes } from "./command.ts";
import { fail, print } from "./output.ts";
import { settings } from "./settings.ts";

/** Asks a node whether it is ready, for the health check of an image. */
export const health: Command = {
  about: "ask the node with these settings on this machine whether it is ready",
  description: [
    "Asks /readyz at PORT, or at OPERATIONS_PORT where PORT is 0, over TLS where the service has a certificate. Exits with 1 when the node is not ready or does not answer.",
  ],
  async run() {
    const config = settings();
    const { ok, line } = await (await import("../health_check.ts")).checkHealth(config);
    return ok ? print([line]) : fail(exitCodes.failed, line);
  },
};
