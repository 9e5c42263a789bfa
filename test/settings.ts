import { randomBytes } from "node:crypto";
import { http2 } from "../packages/gateway/test/http/implementation.ts";
import { type Config, readConfig } from "../src/config/config.ts";
import { newToken } from "../src/security/token.ts";

/** Settings for tests: a free port, silent, hashes that cost little, and a machine that may stall for seconds. */
export function testConfig(): Config {
  const cheap = { hashMemoryKib: 64, hashIterations: 1, hashQueue: 1000 };
  const quiet = { port: 0, logLevel: "silent", shutdownGraceMs: 1000 } as const;
  const database = { databaseConnections: 5, databaseWaitMs: 20_000 };
  // Most tests of wrong passwords make more of them than a minute allows.
  const unlimited = {
    signInFailuresPerAddressPerMinute: 0,
    passwordResetsPerAddressPerMinute: 0,
  };
  // Nobody listens there: tests ask no name servers of the world.
  const world = { domainNameServers: ["127.0.0.1:9"] };
  return { ...readConfig({}), ...cheap, ...quiet, ...database, ...unlimited, ...world, ...secretsOf(), http2 };
}

/** What whoever starts an instance alone knows. */
export type Secrets = { readonly adminToken: string; readonly masterKeys: readonly Buffer[] };

const secretsOf = (): Secrets => ({ adminToken: newToken("pt"), masterKeys: [randomBytes(32)] });
