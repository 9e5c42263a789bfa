/** The header by which a client authenticates, as a line of HTTP/1.1. */
export function basicOf({ id, secret }: { readonly id: string; readonly secret: string }): string {
  const proof = [id, secret].map(encodeURIComponent).join(":");
  return `authorization: Basic ${Buffer.from(proof).toString("base64")}\r\n`;
}

/** A form as the last headers of a request and its body. */
export function formOf(fields: readonly [string, string][]): string {
  const form = new URLSearchParams(fields).toString();
  return `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${form.length}\r\n\r\n${form}`;
}

export type Json = Readonly<Record<string, unknown>>;

/** The body of a response with status 200; empty for any other. */
export function jsonIn(response: string): Json {
  if (!response.startsWith("HTTP/1.1 200")) return {};
  // In chunks its length comes before it.
  const body = response.slice(response.indexOf("\r\n\r\n"));
  return JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1)) as Json;
}
