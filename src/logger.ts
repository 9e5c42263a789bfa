import pino, { type Logger } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config.ts";
import { isPretty } from "./log_format.ts";

/** The log of the process: JSON lines, or pretty ones on a terminal; those of a worker have its number. */
export function createLogger(config: Pick<Config, "logLevel" | "logFormat">, worker?: number): Logger {
  const options = { level: config.logLevel, base: worker === undefined ? null : { worker } };
  return isPretty(config) ? pino(options, pretty({ sync: true, singleLine: true })) : pino(options);
}
