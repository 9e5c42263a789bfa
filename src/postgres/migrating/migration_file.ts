import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../failure.ts";

/** A part of a migration that is applied, and recorded, by itself. */
export type Step =
  | Readonly<{ kind: "transaction"; text: string }>
  /** An index that is built while others write. */
  | Readonly<{ kind: "index"; text: string; index: string; table: string }>
  /** A statement that is repeated for a range of keys at a time. */
  | Readonly<{ kind: "batches"; text: string; table: string; keys: readonly string[] }>;

/** A file of migrations. The first checksum is its own; others belong to files that it replaces, and which count as this one. */
export type Migration = Readonly<{ name: string; checksums: readonly [string, ...string[]]; steps: readonly Step[] }>;

/** The migrations of a folder, in order. The thread pool takes six times as long for a hundred small files as reading them one by one. */
export function migrationsIn(folder: string): readonly Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();
  const odd = names.find((name) => !/^\d{4}-[a-z0-9-]+\.sql$/.test(name));
  if (odd) throw new StartError(`${odd} is not a valid name for a migration: it must look like 0001-what.sql`);
  return names.map((name) => parseMigration(name, readFileSync(join(folder, name), "utf8")));
}

/** Reads a migration; without a line that begins a step, the whole file is one transaction. */
export function parseMigration(file: string, written: string): Migration {
  const name = file.replace(/\.sql$/, "");
  const text = written.replaceAll("\r\n", "\n");
  const checksum = createHash("sha256").update(text).digest("hex");
  const [head = "", ...parts] = text.split(/^-- step: (.*)$/m);
  const [, replaced] = /^-- replaces sha256 ([0-9a-f]{64})$/m.exec(head) ?? [];
  const checksums = replaced ? ([checksum, replaced] as const) : ([checksum] as const);
  if (parts.length === 0) return { name, checksums, steps: [{ kind: "transaction", text }] };
  if (/^(?!--).*\S/m.test(head)) throw new StartError(`Migration ${name} has a statement before its first step`);
  const steps = parts.flatMap((kind, at) => (at % 2 === 0 ? [stepOf(name, kind, parts[at + 1] ?? "")] : []));
  return { name, checksums, steps };
}

function stepOf(name: string, kind: string, text: string): Step {
  if (kind === "transaction") return { kind, text };
  if (kind === "index") {
    const [, index, table] = /^create (?:unique )?index concurrently if not exists (\w+)\s+on (\w+)/m.exec(text) ?? [];
    if (index && table) return { kind, text, index, table };
    throw new StartError(`Migration ${name} has a step that must create one index concurrently if it does not exist`);
  }
  const [, table, keys] = /^batches of (\w+) by (\w+(?:, \w+)*)$/.exec(kind) ?? [];
  if (!table || !keys) throw new StartError(`Migration ${name} has a step of an unknown kind: ${kind}`);
  if (!text.includes(":batch")) throw new StartError(`Migration ${name} has batches whose statement lacks :batch`);
  return { kind: "batches", text, table, keys: keys.split(", ") };
}
