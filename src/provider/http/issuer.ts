export type IssuerSettings = {
  readonly publicUrl: string | undefined;
  readonly tlsCertFile: string;
  readonly port: number;
};

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether a host name means the machine itself. */
export const isLoopback = (hostname: string): boolean => loopback.test(hostname);

/**
 * The header that makes browsers call the issuer's host only over TLS, for a year (RFC 6797); none without TLS. Subdomains are left out,
 * because they may belong to somebody else. So is `localhost`, which all programs of a machine share: other ports may have no TLS.
 */
export function transportSecurity(issuer: string | undefined): Readonly<Record<string, string>> {
  if (issuer === undefined) return {};
  const { protocol, hostname } = new URL(issuer);
  const isPinned = protocol === "https:" && !isLoopback(hostname);
  return isPinned ? { "strict-transport-security": "max-age=31536000" } : {};
}

/**
 * The issuer of tokens: PUBLIC_URL without a trailing slash, or localhost at the listening port. Undefined if PUBLIC_URL cannot be an
 * issuer, because it has a path or query, or is plain http to another machine.
 */
export function issuerOf({ publicUrl, tlsCertFile }: IssuerSettings, port: number): string | undefined {
  if (publicUrl === undefined) return `${tlsCertFile ? "https" : "http"}://localhost:${port}`;
  const { origin, protocol, hostname, pathname, search } = new URL(publicUrl);
  if (pathname !== "/" || search !== "") return undefined;
  return protocol === "https:" || isLoopback(hostname) ? origin : undefined;
}
