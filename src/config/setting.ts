import { Resolver } from "node:dns";
import { isIP } from "node:net";
import { serversOf } from "../postgres/pool/servers.ts";
import { phonePlans } from "./phone_plans.ts";

/** An invalid setting; the message is one sentence that names the variable. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** A setting: its environment variable, meaning and default, and the parser of its value. */
export type Setting<T> = Readonly<{ name: string; meaning: string; default: string; read: (written: string) => T }>;

/** The longest timeout of a Node timer, in milliseconds. */
export const longestTimer = 2 ** 31 - 1;

/** A text, used exactly as written. */
export function text(name: string, fallback: string, meaning: string): Setting<string> {
  return { name, meaning, default: fallback, read: (written) => written || fallback };
}

type Bounds = Readonly<{ least?: number; most?: number; shown?: string }>;

/** A whole number within bounds. */
export function whole(name: string, fallback: number, meaning: string, bounds: Bounds = {}): Setting<number> {
  const { least = 1, most = Number.MAX_SAFE_INTEGER, shown = String(fallback) } = bounds;
  const read = (written: string) => {
    if (!written) return fallback;
    const value = Number(written);
    if (/^\d+$/.test(written) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new ConfigError(`${name} must be a whole number ${range}, not ${JSON.stringify(written)}`);
  };
  return { name, meaning, default: shown, read };
}

/** A time in milliseconds. */
export function milliseconds(name: string, fallback: number, meaning: string, least = 1): Setting<number> {
  return whole(name, fallback, meaning, { least, most: longestTimer });
}

/** One of several words; the first is the default. */
export function oneOf<const T extends string>(
  name: string,
  allowed: readonly [T, ...T[]],
  meaning: string,
): Setting<T> {
  const read = (written: string) => {
    const value = allowed.find((one) => one === (written || allowed[0]));
    if (value) return value;
    throw new ConfigError(`${name} must be one of ${allowed.join(", ")}, not ${JSON.stringify(written)}`);
  };
  return { name, meaning, default: allowed[0], read };
}

/** The URL of a database. */
export function database(name: string, meaning: string): Setting<string | undefined> {
  const read = (written: string) => {
    if (!written) return undefined;
    try {
      serversOf(written);
    } catch (error) {
      throw new ConfigError(`${name} ${error instanceof Error ? error.message : error}`);
    }
    return written;
  };
  return { name, meaning, default: "", read };
}

/** Origins of pages, comma-separated. */
export function origins(name: string, meaning: string): Setting<readonly string[]> {
  const read = (written: string) => {
    const all = written === "" ? [] : written.split(",").map((one) => one.trim());
    const wrong = all.find((one) => one !== "*" && !(URL.canParse(one) && new URL(one).origin === one));
    if (wrong === undefined) return all;
    throw new ConfigError(`${name} must be origins such as https://app.example, or *, not ${JSON.stringify(wrong)}`);
  };
  return { name, meaning, default: "", read };
}

/** Hosts of URLs, comma-separated, or `*` for all. */
export function hosts(name: string, meaning: string): Setting<readonly string[]> {
  const read = (written: string) => {
    const all = written === "" ? [] : written.split(",").map((one) => one.trim());
    const wrong = all.find((one) => one !== "*" && !isHost(one));
    if (wrong === undefined) return all;
    throw new ConfigError(`${name} must be hosts such as app.example, or *, not ${JSON.stringify(wrong)}`);
  };
  return { name, meaning, default: "", read };
}

/** Whether a text is the host of a URL in normal form: lower case, a domain of other scripts in ASCII, no default port. */
const isHost = (written: string): boolean =>
  URL.canParse(`https://${written}`) && new URL(`https://${written}`).href === `https://${written}/`;

/** Addresses or subnets, comma-separated. */
export function subnets(name: string, meaning: string): Setting<readonly string[]> {
  const read = (written: string) => {
    const all = written === "" ? [] : written.split(",").map((one) => one.trim());
    const wrong = all.find((one) => !isSubnet(one));
    if (wrong === undefined) return all;
    throw new ConfigError(`${name} must be addresses or subnets such as 10.0.0.0/8, not ${JSON.stringify(wrong)}`);
  };
  return { name, meaning, default: "", read };
}

/** Name servers, comma-separated. */
export function nameServers(name: string, meaning: string): Setting<readonly string[]> {
  const read = (written: string) => {
    const all = written === "" ? [] : written.split(",").map((one) => one.trim());
    try {
      if (all.length > 0) new Resolver().setServers(all);
      return all;
    } catch {
      throw new ConfigError(
        `${name} must be addresses such as 192.0.2.1 or [2001:db8::1]:53, not ${JSON.stringify(written)}`,
      );
    }
  };
  return { name, meaning, default: "", read };
}

function isSubnet(written: string): boolean {
  const [address = "", prefix = "0", ...rest] = written.split("/");
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  return bits !== undefined && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits;
}

/** A secret of printable characters. */
export function token(name: string, meaning: string): Setting<string | undefined> {
  const read = (written: string) => {
    if (/^[!-~]*$/.test(written)) return written || undefined;
    throw new ConfigError(`${name} must be visible ASCII characters without spaces`);
  };
  return { name, meaning, default: "", read };
}

/** Keys of 32 bytes in base64, comma-separated. */
export function keys(name: string, meaning: string): Setting<readonly Buffer[]> {
  return { name, meaning, default: "", read: (written) => (written ? parseKeys(name, written) : []) };
}

/** Parses keys of 32 bytes in base64; `name` identifies them in errors. */
export function parseKeys(name: string, written: string): readonly Buffer[] {
  const keys = written.split(",").map((one, index) => {
    const key = Buffer.from(one.trim(), "base64");
    if (key.length === 32 && /^[\w+/-]+=*$/.test(one.trim())) return key;
    throw new ConfigError(`${name} must be base64 of 32 bytes for each key; key ${index + 1} is not`);
  });
  if (new Set(keys.map((key) => key.toString("base64"))).size === keys.length) return keys;
  throw new ConfigError(`${name} must not contain a key twice`);
}

/** An http or https URL. */
export function httpUrl(name: string, fallback: string, meaning: string): Setting<string | undefined> {
  const read = (written: string) => {
    if (!written) return fallback || undefined;
    const url = URL.canParse(written) ? new URL(written) : undefined;
    if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash) return url.href;
    throw new ConfigError(`${name} must be an http:// or https:// URL without user, password and fragment`);
  };
  return { name, meaning, default: fallback, read };
}

/** Pairs of name and value, comma-separated. */
// The syntax of OpenTelemetry's lists: W3C Baggage without properties.
export function pairs(name: string, meaning: string): Setting<Readonly<Record<string, string>>> {
  const read = (written: string) => {
    const all = written.split(",").filter((one) => one.trim() !== "");
    return Object.fromEntries(all.map((one) => pair(name, one)));
  };
  return { name, meaning, default: "", read };
}

function pair(name: string, written: string): [string, string] {
  const [, key, value = ""] = /^\s*([\w.!#$%&'*+^`|~-]+)\s*=\s*([!-~]([ -~]*[!-~])?)\s*$/.exec(written) ?? [];
  const decoded = value && decodedUri(value);
  if (key && decoded) return [key, decoded];
  throw new ConfigError(`${name} must be name=value pairs, separated by commas and percent-encoded`);
}

function decodedUri(value: string): string | undefined {
  try {
    const decoded = decodeURIComponent(value);
    // The characters allowed in an HTTP header.
    return /^[\t -~\u0080-\u00ff]+$/.test(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** A number from 0 to 1. */
export function share(name: string, fallback: number, meaning: string): Setting<number> {
  const read = (written: string) => {
    const value = written ? Number(written) : fallback;
    if (value >= 0 && value <= 1) return value;
    throw new ConfigError(`${name} must be a number from 0 to 1, not ${JSON.stringify(written)}`);
  };
  return { name, meaning, default: String(fallback), read };
}

/** The key that signs webhook posts, in base64. */
export function webhookSecret(name: string, meaning: string): Setting<Buffer | undefined> {
  const read = (written: string) => {
    if (!written) return undefined;
    const base64 = written.replace(/^whsec_/, "");
    const secret = Buffer.from(base64, "base64");
    if (/^[\w+/-]+=*$/.test(base64) && secret.length >= 24 && secret.length <= 64) return secret;
    throw new ConfigError(`${name} must be base64 of 24 to 64 bytes: create one with \`openssl rand -base64 32\``);
  };
  return { name, meaning, default: "", read };
}

/** The text of an SMS, with a placeholder for its code. */
export function smsText(name: string, fallback: string, meaning: string): Setting<string> {
  const read = (written: string) => {
    if (!written || written.includes("{code}")) return written || fallback;
    throw new ConfigError(`${name} must contain {code}`);
  };
  return { name, meaning, default: fallback, read };
}

/** A region with a numbering plan. */
export function region(name: string, meaning: string): Setting<string | undefined> {
  const read = (written: string) => {
    if (!written || phonePlans().isSupportedCountry(written)) return written || undefined;
    throw new ConfigError(
      `${name} must be a region with a numbering plan, two capital letters such as CH, not ${JSON.stringify(written)}`,
    );
  };
  return { name, meaning, default: "", read };
}

/** A mail server as given by its URL; the connection is encrypted from the start, or with STARTTLS. */
export type SmtpUrl = {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly auth: { readonly user: string; readonly pass: string } | undefined;
};

/** The URL of a mail server. */
export function smtpUrl(name: string, meaning: string): Setting<SmtpUrl | undefined> {
  const read = (written: string) => {
    if (!written) return undefined;
    const server = serverIn(written);
    if (server) return server;
    throw new ConfigError(
      `${name} must be an smtp:// or smtps:// URL with a host, and with a percent-encoded user and password or neither`,
    );
  };
  return { name, meaning, default: "", read };
}

function serverIn(written: string): SmtpUrl | undefined {
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (!url?.hostname || !/^smtps?:$/.test(url.protocol) || url.hash || url.search || !/^\/?$/.test(url.pathname))
    return undefined;
  const tls = url.protocol === "smtps:";
  const [user, pass] = [decoded(url.username), decoded(url.password)];
  if (user === undefined || pass === undefined || (user === "") !== (pass === "")) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port: Number(url.port) || (tls ? 465 : 587), tls, auth: user ? { user, pass } : undefined };
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

/** A mailbox: an address, with or without a name. */
export function mailbox(name: string, meaning: string): Setting<{ name: string; address: string } | undefined> {
  const read = (written: string) => {
    if (!written) return undefined;
    const [, shown = "", inner] = /^([^<>"\p{C}]*)<([^<>]*)>$/u.exec(written) ?? [];
    const address = inner ?? written;
    if (/^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-zA-Z0-9.-]{1,250}$/.test(address)) return { name: shown.trim(), address };
    throw new ConfigError(`${name} must be an address such as no-reply@example.com, or Example <no-reply@example.com>`);
  };
  return { name, meaning, default: "", read };
}

/** The URL of a page that accepts a code, with `{code}` in place of the code. */
export function codeUrl(name: string, meaning: string): Setting<string | undefined> {
  const read = (written: string) => {
    if (!written) return undefined;
    const isUrl = URL.canParse(written) && /^https?:$/.test(new URL(written).protocol);
    if (isUrl && /^[!-~]+$/.test(written) && /[/?#].*\{code\}/.test(written.replace(/^https?:\/\//, "")))
      return written;
    throw new ConfigError(`${name} must be an http:// or https:// URL with {code} in its path, query or fragment`);
  };
  return { name, meaning, default: "", read };
}

/** A selection of words. */
export function someOf<const T extends string>(
  name: string,
  allowed: readonly T[],
  meaning: string,
): Setting<readonly T[]> {
  const read = (written: string) => {
    const named = written === "none" ? [] : written.split(",").map((one) => one.trim());
    const all = written === "" ? [...allowed] : named.map((one) => allowed.find((known) => known === one));
    if (all.every((one) => one !== undefined)) return all;
    throw new ConfigError(
      `${name} must be one or more of ${allowed.join(", ")}, or none, not ${JSON.stringify(written)}`,
    );
  };
  return { name, meaning, default: allowed.join(","), read };
}

/** A port, or none. */
export function optionalPort(name: string, meaning: string): Setting<number | undefined> {
  const { read } = whole(name, 0, meaning, { least: 0, most: 65_535 });
  return { name, meaning, default: "", read: (written) => (written ? read(written) : undefined) };
}

/** A number of processes; `auto` means one per core. */
export function processes(name: string, cores: number, meaning: string): Setting<number> {
  const read = (written: string) => {
    if (written === "auto") return cores;
    if (/^([1-9]\d{0,2})?$/.test(written)) return Number(written || 1);
    throw new ConfigError(`${name} must be auto or a whole number from 1 to 999, not ${JSON.stringify(written)}`);
  };
  return { name, meaning, default: "1", read };
}
