/** The settings that name the issuer. */
export type IssuerSettings = {
  readonly publicUrl: string | undefined;
  readonly tlsCertFile: string;
  readonly port: number;
};

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Returns the issuer of tokens: PUBLIC_URL, without a slash at its end, or localhost at the port that is listened on. Undefined
 * where PUBLIC_URL cannot be one: it has a path or a query, or is plain http to another machine.
 */
export function issuerOf({ publicUrl, tlsCertFile }: IssuerSettings, port: number): string | undefined {
  if (publicUrl === undefined) return `${tlsCertFile ? "https" : "http"}://localhost:${port}`;
  const { origin, protocol, hostname, pathname, search } = new URL(publicUrl);
  if (pathname !== "/" || search !== "") return undefined;
  return protocol === "https:" || loopback.test(hostname) ? origin : undefined;
}
