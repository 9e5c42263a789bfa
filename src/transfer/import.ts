import { stat } from "node:fs/promises";
import { ConnectError } from "@connectrpc/connect";
import type { Config } from "../config.ts";
import { ConfigError } from "../setting.ts";
import { auth0Users } from "./auth0.ts";
import { openClients, type Place } from "./client.ts";
import { type Counts, importItems } from "./importer.ts";
import { keycloakRealm } from "./keycloak.ts";
import { progressBar } from "./progress.ts";
import { refusedFile } from "./refused.ts";
import { jsonLines } from "./source.ts";

const sources = { postern: jsonLines, keycloak: keycloakRealm, auth0: auth0Users } as const;

/** Options of an import. */
export type ImportFileOptions = Place & {
  readonly file: string;
  /** The form of the file: `postern`, the default, `keycloak` or `auth0`. */
  readonly from?: string | undefined;
  /** When it is aborted, what is under way is done, and nothing more. */
  readonly signal: AbortSignal;
};

/** The result of an import, with the lines to print. */
export type Imported = { readonly ok: boolean; readonly lines: readonly string[] };

/**
 * Imports a file over the wire. It may be interrupted and run again, on the same file or a corrected one: what is there already is
 * passed over.
 */
export async function importFile(
  config: Config,
  { file, from = "postern", signal, ...place }: ImportFileOptions,
): Promise<Imported> {
  const source = sourceOf(from);
  const { size } = await stat(file).catch((cause: unknown) => {
    throw new ConfigError(`${file} cannot be read: ${cause instanceof Error ? cause.message : cause}`);
  });
  await using refused = await refusedFile(`${file}.refused`);
  using progress = progressBar(process.stderr, size);
  try {
    using clients = await openClients(config, place);
    const counts = await importItems({ clients, source: source(file), refused, onProgress: progress.show, signal });
    return summary(counts, refused.path, signal.aborted);
  } catch (error) {
    if (error instanceof ConnectError) throw new ConfigError(`The import ended: ${error.message}. It may be run again`);
    throw error;
  }
}

function sourceOf(from: string) {
  const found = Object.entries(sources).find(([name]) => name === from)?.[1];
  if (found) return found;
  throw new ConfigError(`--from must be one of ${Object.keys(sources).join(", ")}, not ${from}`);
}

function summary({ made, there, refused }: Counts, path: string, isInterrupted: boolean): Imported {
  const lines = [`${made} made, ${there} there already, ${refused} refused`];
  if (refused > 0) lines.push(`the refused ones are in ${path}, with their reasons`);
  if (isInterrupted) lines.push("interrupted: run it again to go on");
  return { ok: refused === 0 && !isInterrupted, lines };
}
