import type { Config } from "../config/config.ts";

/** The settings of one worker: the node's limits divided among all workers, except those on failures, which they share. */
export function shareOf(config: Config, number: number, of: number): Config {
  const whole = (total: number) => Math.floor(total / of) + (number <= total % of ? 1 : 0);
  // If a caller may always reach the same worker, shares are rounded up; 0, which sets no limit, stays.
  const atLeast = (least: number, total: number) => Math.max(least, Math.ceil(total / of));
  return {
    ...config,
    databaseConnections: whole(config.databaseConnections),
    hashConcurrency: Math.max(1, whole(config.hashConcurrency)),
    hashQueue: atLeast(0, config.hashQueue),
    callsMax: atLeast(1, config.callsMax),
    streamsPerCallerMax: atLeast(1, config.streamsPerCallerMax),
    knownStreamsMax: atLeast(1, config.knownStreamsMax),
    unknownStreamsMax: atLeast(2, config.unknownStreamsMax),
    bodiesMaxBytes: atLeast(leastBodyBytes, config.bodiesMaxBytes),
    callsPerAddressPerMinute: atLeast(0, config.callsPerAddressPerMinute),
    callsPerCallerPerMinute: atLeast(0, config.callsPerCallerPerMinute),
    callsPerOrganizationPerMinute: atLeast(0, config.callsPerOrganizationPerMinute),
    unknownTokensPerAddressPerMinute: atLeast(0, config.unknownTokensPerAddressPerMinute),
  };
}

// The minimum of BODIES_MAX_BYTES: with less, a caller could not send the largest message.
const leastBodyBytes = 8 * 2 ** 20;
