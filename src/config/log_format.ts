import type { Config } from "./config.ts";

/** Whether the output is for people: on a terminal, or if the settings say so. */
export function isPretty({ logFormat }: Pick<Config, "logFormat">): boolean {
  return logFormat === "pretty" || (logFormat === "auto" && process.stdout.isTTY === true);
}
