import type { HandlerContext } from "@connectrpc/connect";

/** The settings that the issuer of tokens depends on. */
export type IssuerSettings = {
  readonly publicUrl: string | undefined;
  readonly tlsCertFile: string;
  readonly port: number;
};

/** The issuer of tokens, as a call knows it: PUBLIC_URL's origin, otherwise localhost at the port of the node. */
export function issuerHere(
  { publicUrl, tlsCertFile, port }: IssuerSettings,
  { url }: Pick<HandlerContext, "url">,
): string {
  if (publicUrl !== undefined) return new URL(publicUrl).origin;
  return `${tlsCertFile ? "https" : "http"}://localhost:${port || new URL(url).port}`;
}
