import { type Config, readConfig, settingWarnings } from "../config/config.ts";
import { warn } from "./output.ts";

/** Reads the settings, and warns about names that are not settings. */
export function settings(): Config {
  const config = readConfig();
  for (const sentence of settingWarnings()) warn(sentence);
  return config;
}
