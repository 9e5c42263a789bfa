import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("corpus/", import.meta.url));

/** A sequence whose outcome was once wrong. */
export type Case = { readonly name: string; readonly found: string; readonly frames: readonly Buffer[] };

/** All cases that are kept. */
export function cases(): Case[] {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const { found, frames } = JSON.parse(readFileSync(folder + name, "utf8"));
      return { name, found, frames: frames.map((hex: string) => Buffer.from(hex, "hex")) };
    });
}

/** Keeps a case. */
export function keep({ name, found, frames }: Case): void {
  const text = JSON.stringify({ found, frames: frames.map((bytes) => bytes.toString("hex")) }, null, 2);
  writeFileSync(`${folder}${name}.json`, `${text}\n`);
}
