import { createRequire } from "node:module";
import pino, { type Logger } from "pino";
import type { PinoPretty } from "pino-pretty";
import type { Config } from "./config.ts";
import { isPretty } from "./log_format.ts";

/** The log of the process: JSON lines, or pretty ones on a terminal. A worker's lines have its number. */
export function createLogger(config: Pick<Config, "logLevel" | "logFormat">, worker?: number): Logger {
  const options = { level: config.logLevel, base: worker === undefined ? null : { worker } };
  if (!isPretty(config)) return pino(options);
  // Its thirty modules are only loaded for people.
  const pretty = createRequire(import.meta.url)("pino-pretty") as typeof PinoPretty;
  return pino(options, pretty({ sync: true, singleLine: true }));
}
