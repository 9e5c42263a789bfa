import type { Calls, Shot } from "./generator.ts";

/** The calls of a shot, all alike. */
export function callsOfShot({ path, headers, body, http }: Shot, url: string): Calls {
  const { host } = new URL(url);
  if (http === "2") return { http, fields: { ...pseudo(path, host), ...headers }, body: () => body };
  const lines = fieldLines({ host, ...headers, "content-length": String(body.length) });
  const whole = Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}\r\n`), body]);
  return { http, bytes: () => whole };
}

/** The pseudo-header fields of a call. */
export const pseudo = (path: string, authority: string): Readonly<Record<string, string>> => ({
  ":method": "POST",
  ":scheme": "http",
  ":path": path,
  ":authority": authority,
});

/** Fields as HTTP/1.1 writes them. */
export const fieldLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
