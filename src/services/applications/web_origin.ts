import { isIPv4, isIPv6 } from "node:net";
import { domainToASCII } from "node:url";
import type { TextKey } from "../../messages/catalogue.ts";

/** Whether following the URI could run code or read files, however its scheme is spelled or disguised. */
export function isDangerous(uri: string): boolean {
  const scheme = schemeOf(uri) ?? schemeOf(unhidden(uri));
  return scheme !== undefined && dangerousSchemes.has(scheme);
}

export const schemeOf = (uri: string): string | undefined => /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase();

const dangerousSchemes: ReadonlySet<string> = new Set(
  `about android-app blob chrome content data file filesystem intent its jar javascript jscript livescript mhtml mk mocha
   ms-its res resource vbs vbscript view-source wyciwyg`.split(/\s+/),
);

// Browsers strip leading control characters and spaces, and every tab and line feed; proxies and templates decode percent-encoding.
function unhidden(uri: string): string {
  let seen = shown(uri);
  for (let round = 0; round < 4 && seen.includes("%"); round++) seen = shown(seen.replace(/%([0-7][0-9a-f])/gi, ascii));
  return seen;
}

const schemeEnd = 256;

const shown = (uri: string) =>
  uri
    .replace(/[\s\p{Cc}\p{Cf}]/gu, "")
    .slice(0, schemeEnd)
    .normalize("NFKC");

const ascii = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));

/** Whether an http URI certainly stays on the machine: its host is literally localhost, 127.x.x.x or [::1]. */
export function isLoopback(uri: string): boolean {
  const authority = /^[a-z]+:\/\/([^/?#]*)/i.exec(uri)?.[1] ?? "";
  const { host, port } = hostAndPort(authority);
  return isPort(port) && isLoopbackHost(host.toLowerCase());
}

function isLoopbackHost(host: string): boolean {
  if (host === "localhost") return true;
  if (host.startsWith("[")) return isBracketed(host) && new URL(`http://${host}`).hostname === "[::1]";
  return isIPv4(host) && host.startsWith("127.");
}

/** Finds the fault of an origin, scheme://hostname[:port]; undefined if it is valid. */
export function originFault(origin: string): OriginFault | undefined {
  const parts = partsOf(origin);
  return parts ? originFaults.find(({ stands }) => stands(parts))?.fault : "ORIGIN_NO_SCHEME";
}

/**
 * Normalizes a valid origin to the form that browsers send (RFC 6454, 6.2): scheme and host in lower case, the host in ASCII, no default
 * port.
 */
export function originOf(origin: string): string {
  const { scheme = "", host = "", port } = partsOf(origin) ?? {};
  const name = scheme.toLowerCase();
  const number = port === undefined ? undefined : Number(port);
  return `${name}://${hostnameOf(host) ?? host}${number === undefined || number === defaultPorts[name] ? "" : `:${number}`}`;
}

const defaultPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };

function partsOf(origin: string): Parts | undefined {
  const [, scheme, authority = "", rest = ""] = /^([^:/?#]*):\/\/([^/?#]*)(.*)$/s.exec(origin) ?? [];
  return scheme === undefined ? undefined : { origin, scheme, authority, rest, ...hostAndPort(authority) };
}

type Parts = Record<"origin" | "scheme" | "authority" | "rest" | "host", string> & { port: string | undefined };

type OriginFault = Extract<TextKey, `ORIGIN_${string}`>;

const originFaults: readonly { fault: OriginFault; stands: (parts: Parts) => boolean }[] = [
  { fault: "ORIGIN_DANGEROUS", stands: ({ origin }) => isDangerous(origin) },
  { fault: "ORIGIN_SCHEME", stands: ({ scheme }) => !/^[a-z][a-z0-9+.-]*$/i.test(scheme) },
  { fault: "ORIGIN_USER", stands: ({ authority }) => authority.includes("@") },
  { fault: "ORIGIN_PATH", stands: ({ rest }) => rest.startsWith("/") },
  { fault: "ORIGIN_QUERY", stands: ({ rest }) => rest.startsWith("?") },
  { fault: "ORIGIN_FRAGMENT", stands: ({ rest }) => rest.startsWith("#") },
  { fault: "ORIGIN_NO_HOST", stands: ({ host }) => host === "" },
  { fault: "ORIGIN_HOST", stands: ({ host }) => hostnameOf(host) === undefined },
  { fault: "ORIGIN_PORT", stands: ({ port }) => !isPort(port) || Number(port) === 0 },
];

/** Converts a hostname as browsers do: to ASCII and lower case, with addresses in their shortest form. */
function hostnameOf(host: string): string | undefined {
  if (host.startsWith("[")) return isBracketed(host) ? new URL(`http://${host}`).hostname : undefined;
  const inAscii = /^[\p{L}\p{M}\p{N}._-]+$/u.test(host) ? domainToASCII(host) : "";
  return isHostname(inAscii) ? inAscii : undefined;
}

function hostAndPort(authority: string): { host: string; port: string | undefined } {
  const [, host = "", port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(authority) ?? ["", authority];
  return { host, port };
}

const isPort = (port: string | undefined) => port === undefined || (/^\d{1,5}$/.test(port) && Number(port) <= 65_535);

const isBracketed = (host: string) => host.endsWith("]") && isIPv6(host.slice(1, -1)) && !host.includes("%");

// If the last label looks like a number, browsers parse the whole host as an IPv4 address (WHATWG URL, 3.5).
function isHostname(host: string): boolean {
  if (/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/i.test(host)) return isIPv4(host);
  return host.length <= 253 && host.split(".").every((label) => /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/i.test(label));
}
