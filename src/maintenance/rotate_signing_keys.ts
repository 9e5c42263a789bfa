import type { Config } from "../config/config.ts";
import { createLogger } from "../config/logger.ts";
import { type NextKey, signingKeys } from "../provider/tokens/signing_keys.ts";
import { openRuntime } from "../runtime/runtime.ts";

/**
 * Creates the next keys for signing tokens, and returns lines that name them. In an emergency they sign immediately, and all others are
 * withdrawn. Needs only the database and the master key, and may run alongside the service.
 */
export async function rotateSigningKeys(config: Config, isEmergency: boolean): Promise<readonly string[]> {
  await using runtime = await openRuntime(config, {
    logger: createLogger({ ...config, logLevel: "silent" }),
    join: true,
  });
  const keys = signingKeys({ ...runtime.deps, instanceId: runtime.instanceId });
  return isEmergency ? (await keys.withdraw()).map(replacedLine) : (await keys.renew()).map(renewedLine);
}

const replacedLine = ({ algorithm, kid, withdrawn }: NextKey): string =>
  `${algorithm}: ${kid} now signs; withdrawn: ${withdrawn.join(", ") || "none"}`;

const renewedLine = ({ algorithm, kid, signsFrom }: NextKey): string =>
  `${algorithm}: ${kid} is published, and will sign from ${signsFrom.toISOString()}`;
