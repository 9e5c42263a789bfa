import { type Command, exitCodes } from "./command.ts";
import { fail, print } from "./output.ts";
import { settings } from "./settings.ts";

/** Asks the node on this machine whether it is ready. */
export const health: Command = {
  about: "check whether the node with these settings on this machine is ready",
  description: [
    "Requests /readyz at HOST and PORT, or at OPERATIONS_PORT if PORT is 0. If TLS_CERT_FILE is set, it uses TLS and accepts any name in the certificate. Use it for container health checks: the exit code is 1 if no node is ready.",
  ],
  async run() {
    const { ok, line } = await (await import("../client/health_check.ts")).checkHealth(settings());
    return ok ? print([line]) : fail(exitCodes.failed, line);
  },
};
