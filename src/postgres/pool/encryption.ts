import { readFileSync } from "node:fs";
import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import { StartError } from "../failure.ts";

/** The parameters of a database's URL for encryption, as libpq names them. */
export const encryptionParameters = ["sslmode", "sslrootcert", "sslcert", "sslkey"];

/**
 * Derives the encryption from the URL, by libpq's rules; undefined if the URL has no such parameter. The driver itself reads no files,
 * and for a server named by its address requires a certificate for localhost.
 */
export function encryptionOf({ searchParams, hostname }: URL): ConnectionOptions | "prefer" | false | undefined {
  const root = searchParams.get("sslrootcert");
  const mode = searchParams.get("sslmode") ?? (root === "system" ? "verify-full" : undefined);
  const files = {
    ...(root && root !== "system" ? { ca: fileOf("sslrootcert", root) } : {}),
    ...ownFile("cert", "sslcert", searchParams),
    ...ownFile("key", "sslkey", searchParams),
  };
  switch (mode) {
    case undefined:
      return undefined;
    case "disable":
      return false;
    case "allow":
    case "prefer":
      return "prefer";
    case "require":
      return root ? { ...files, checkServerIdentity: anybody } : { ...files, rejectUnauthorized: false };
    case "verify-ca":
      return { ...files, checkServerIdentity: anybody };
    case "verify-full":
      return {
        ...files,
        checkServerIdentity: (_, shown) => checkServerIdentity(hostname.replace(/^\[|\]$/g, ""), shown),
      };
    default:
      throw new StartError(`DATABASE_URL has sslmode=${mode}, which libpq does not have`);
  }
}

const anybody = () => undefined;

function ownFile(option: "cert" | "key", parameter: string, searchParams: URLSearchParams) {
  const path = searchParams.get(parameter);
  return path ? { [option]: fileOf(parameter, path) } : {};
}

function fileOf(parameter: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new StartError(`The file ${path}, the ${parameter} in DATABASE_URL, cannot be read (${code})`);
  }
}
