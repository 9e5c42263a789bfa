import { type Command, exitCodes } from "./command.ts";
import { fail, print } from "./output.ts";
import { settings } from "./settings.ts";

/** Asks the node on this machine whether it is ready. */
export const health: Command = {
  about: "ask the node with these settings on this machine whether it is ready",
  description: [
    "Asks /readyz at HOST and PORT, or at OPERATIONS_PORT where PORT is 0, over TLS where TLS_CERT_FILE is set, whatever names the certificate has. It is for the health checks of containers: the exit code is 1 where no node is ready.",
  ],
  async run() {
    const { ok, line } = await (await import("../client/health_check.ts")).checkHealth(settings());
    return ok ? print([line]) : fail(exitCodes.failed, line);
  },
};
