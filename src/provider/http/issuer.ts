/** The settings that name the issuer. */
export type IssuerSettings = {
  readonly publicUrl: string | undefined;
  readonly tlsCertFile: string;
  readonly port: number;
};

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a host is one by which a machine calls itself. */
export const isLoopback = (hostname: string): boolean => loopback.test(hostname);

/**
 * The header by which browsers call the host of an issuer by TLS alone, for a year (RFC 6797); none without TLS. Hosts under it may be
 * another's, so they are left out. `localhost` belongs to every program of a machine: its other ports may have no TLS.
 */
export function transportSecurity(issuer: string | undefined): Readonly<Record<string, string>> {
  if (issuer === undefined) return {};
  const { protocol, hostname } = new URL(issuer);
  const isPinned = protocol === "https:" && !isLoopback(hostname);
  return isPinned ? { "strict-transport-security": "max-age=31536000" } : {};
}

/**
 * Returns the issuer of tokens: PUBLIC_URL, without a slash at its end, or localhost at the port that is listened on. Undefined
 * where PUBLIC_URL cannot be one: it has a path or a query, or is plain http to another machine.
 */
export function issuerOf({ publicUrl, tlsCertFile }: IssuerSettings, port: number): string | undefined {
  if (publicUrl === undefined) return `${tlsCertFile ? "https" : "http"}://localhost:${port}`;
  const { origin, protocol, hostname, pathname, search } = new URL(publicUrl);
  if (pathname !== "/" || search !== "") return undefined;
  return protocol === "https:" || isLoopback(hostname) ? origin : undefined;
}
