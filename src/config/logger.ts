import { createRequire } from "node:module";
import { ConnectError } from "@connectrpc/connect";
import pino, { type Logger } from "pino";
import type { PinoPretty } from "pino-pretty";
import { codeName, reasonOf } from "../errors.ts";
import type { Config } from "./config.ts";
import { isPretty } from "./log_format.ts";

/** The log of the process: JSON lines, or pretty ones on a terminal. A worker's lines have its number. */
export function createLogger(config: Pick<Config, "logLevel" | "logFormat">, worker?: number): Logger {
  const base = worker === undefined ? null : { worker };
  const options = { level: config.logLevel, base, serializers: { err: loggedError } };
  if (!isPretty(config)) return pino(options);
  // Its thirty modules are only loaded if people read the log.
  const pretty = createRequire(import.meta.url)("pino-pretty") as typeof PinoPretty;
  return pino(options, pretty({ sync: true, singleLine: true }));
}

/** An error as the log shows it. The details of a refusal are left out: with their descriptors they are fifty times as long as the rest. */
export function loggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (!(error instanceof ConnectError)) return pino.stdSerializers.err(error);
  const { type, message, stack } = pino.stdSerializers.err(error);
  return { type, code: codeName(error.code), reason: reasonOf(error), message, stack };
}
