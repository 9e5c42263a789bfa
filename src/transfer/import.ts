import type { Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { ConnectError } from "@connectrpc/connect";
import { UsageError } from "../client/usage_error.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/setting.ts";
import { auth0Users } from "./auth0.ts";
import { openClients, type TransferOptions } from "./client.ts";
import { type Counts, importItems } from "./importer.ts";
import { itemKinds } from "./item.ts";
import { keycloakBytes, keycloakRealm } from "./keycloak.ts";
import { progressBar } from "./progress.ts";
import { notesFile, refusedFile } from "./refused.ts";
import { openReport } from "./report.ts";
import { jsonLines, type SourceItem } from "./source.ts";

type Source = {
  readonly read: (path: string) => AsyncIterable<SourceItem>;
  readonly sizeOf: (path: string) => Promise<number>;
};

const sizeOf = async (path: string): Promise<number> => (await stat(path)).size;

const sources: Readonly<Record<string, Source>> = {
  postern: { read: jsonLines, sizeOf },
  keycloak: { read: keycloakRealm, sizeOf: keycloakBytes },
  auth0: { read: auth0Users, sizeOf },
};

export type ImportFileOptions = TransferOptions & {
  readonly file: string;
  /** The format of the file: `postern`, the default, `keycloak` or `auth0`. */
  readonly from?: string | undefined;
  /** On abort, running requests finish and nothing more is sent. */
  readonly signal: AbortSignal;
};

/** The result of an import, with the lines to print. */
export type Imported = { readonly ok: boolean; readonly lines: readonly string[] };

/** Imports a file over the wire. It can be interrupted and run again, on the same file or a corrected one; existing objects are skipped. */
export async function importFile(
  config: Config,
  { file, from = "postern", signal, ...options }: ImportFileOptions,
): Promise<Imported> {
  const source = sourceOf(from);
  const found = await stat(file).catch((cause: unknown) => {
    throw new ConfigError(`${file} cannot be read: ${cause instanceof Error ? cause.message : cause}`);
  });
  if (from === "postern") await refuseForeign(file, found);
  else if (from !== "keycloak" && found.isDirectory()) throw new UsageError(`${file} is a folder`);
  const path = file.replace(/\/+$/, "");
  await using refused = await refusedFile(`${path}.refused`);
  await using notes = await notesFile(`${path}.notes`);
  using progress = progressBar(process.stderr, await source.sizeOf(file));
  const report = openReport();
  try {
    using clients = await openClients(config, options);
    const items = source.read(file);
    const counts = await importItems({
      clients,
      source: items,
      refused,
      report,
      notes,
      onProgress: progress.show,
      signal,
    });
    return summary(counts, report.lines(), { refused: refused.path, notes: notes.path, isInterrupted: signal.aborted });
  } catch (error) {
    if (error instanceof ConnectError) throw new ConfigError(`The import ended: ${error.message}. It may be run again`);
    throw error;
  }
}

function sourceOf(from: string): Source {
  const found = Object.hasOwn(sources, from) ? sources[from] : undefined;
  if (found) return found;
  throw new UsageError(`--from must be one of ${Object.keys(sources).join(", ")}, not ${from}`);
}

const peeked = 4096;

/** Refuses a file that cannot be in our own format before touching any other file: usually, --from was forgotten. */
async function refuseForeign(file: string, found: Stats): Promise<void> {
  if (found.isDirectory()) throw foreign(`${file} is a folder`);
  // A pipe can only be read once.
  if (!found.isFile()) return;
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(peeked), 0, peeked, 0);
  const start = /^\uFEFF?\s*(?:\{\s*"([^"\\]*)"\s*:|([[{])\s*\n)/.exec(buffer.toString("utf8", 0, bytesRead));
  if (!start || (start[1] !== undefined && [...itemKinds, "inactive"].includes(start[1]))) return;
  throw foreign(`${file} begins with ${JSON.stringify(start[1] ?? start[2])}, which is not an item that we export`);
}

const foreign = (what: string) =>
  new UsageError(`${what}: if Keycloak or Auth0 exported it, pass --from keycloak or --from auth0`);

type Ending = { readonly refused: string; readonly notes: string; readonly isInterrupted: boolean };

function summary({ made, there, refused }: Counts, table: readonly string[], ending: Ending): Imported {
  const lines = [`${made} created, ${there} already there, ${refused} refused`, ...table];
  if (table.some((line) => line === "changed:" || line === "lost:")) lines.push(`details are in ${ending.notes}`);
  if (refused > 0) lines.push(`the refused items are in ${ending.refused}, with their reasons`);
  if (ending.isInterrupted) lines.push("interrupted; run the command again to continue");
  return { ok: refused === 0 && !ending.isInterrupted, lines };
}
