import { isRefusedByServer, isUnavailable, StartError } from "./failure.ts";

const oldest = 15;

/** Turns a database error at the start into a sentence for the operator, by its code; other errors stay as they are. */
export function startErrorOf(error: unknown): unknown {
  if (!isRefusedByServer(error) && !isUnavailable(error)) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = String(message ?? error);
  switch (code) {
    case "42501":
      return new StartError(
        `The database role lacks a permission (${text}): grant it, or set MIGRATION_DATABASE_URL to use the role that owns the tables`,
      );
    case "25006":
    case "NO_FITTING_SERVER":
      return new StartError(
        `The database accepts no writes (${text}): set DATABASE_URL to the primary, or to all servers with target_session_attrs=read-write`,
      );
    default:
      return new StartError(`The database cannot be used (${text}): check DATABASE_URL and MIGRATION_DATABASE_URL`);
  }
}

/**
 * Refuses a server that is too old, by its `server_version_num` (unique indexes with `nulls not distinct` need version 15), and a database
 * whose encoding cannot represent every name.
 */
export function checkDatabase({ version, encoding }: Readonly<{ version: number; encoding: string }>): void {
  if (version < oldest * 10_000)
    throw new StartError(
      `The database is PostgreSQL ${versionText(version)}, which is too old: ${oldest} or newer is needed`,
    );
  if (encoding !== "UTF8")
    throw new StartError(
      `The database has the encoding ${encoding}, but UTF8 is needed: create a database with \`create database … template template0 encoding 'UTF8'\``,
    );
}

// Since version 10, the last four digits are the minor version; before that, two digits each.
function versionText(version: number): string {
  const [major, minor, patch] = [Math.floor(version / 10_000), Math.floor(version / 100) % 100, version % 100];
  return major >= 10 ? `${major}.${version % 10_000}` : `${major}.${minor}.${patch}`;
}
