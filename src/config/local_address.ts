import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import type { Config } from "./config.ts";

/** The address of a node for this machine: its URL, and the options that curl needs for it. */
export type LocalAddress = { readonly url: string; readonly curl: readonly string[] };

export type ListenSettings = Pick<Config, "host" | "port" | "tlsCertFile">;

/** The URL at which this machine reaches a node with these settings. */
export function localUrl({ host, port, tlsCertFile }: ListenSettings): string {
  return urlOf(tlsCertFile ? "https" : "http", localHost(host), port);
}

/** The address for browsers and calls on this machine: the issuer's if PUBLIC_URL is not set; with TLS, a name in the certificate. */
export async function localAddress(settings: ListenSettings): Promise<LocalAddress> {
  const { tlsCertFile, port } = settings;
  const host = localHost(settings.host);
  const named = /^(?:127\.|\[::1\]$)/.test(host) ? "localhost" : host;
  if (!tlsCertFile) return { url: urlOf("http", named, port), curl: [] };
  const certificate = await readFile(tlsCertFile).then((pem) => new X509Certificate(pem));
  const isSelfSigned = certificate.checkIssued(certificate);
  const trust = isSelfSigned ? [`--cacert ${quoted(tlsCertFile)}`] : [];
  const name = certificate.checkHost(named) ? named : nameIn(certificate, host);
  const ip = host.replace(/^\[|\]$/g, "");
  const resolve = name === host || name === "localhost" || !isIP(ip) ? [] : [`--resolve ${name}:${port}:${host}`];
  return { url: urlOf("https", name, port), curl: [...trust, ...resolve] };
}

/** Quotes a path for the shell if necessary. */
export function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

function localHost(host: string): string {
  return { "0.0.0.0": "127.0.0.1", "::": "[::1]" }[host] ?? (host.includes(":") ? `[${host}]` : host);
}

const urlOf = (scheme: string, host: string, port: number) => `${scheme}://${host}:${port}`;

/** The host itself if the certificate covers it, otherwise the certificate's first name. */
function nameIn(certificate: X509Certificate, host: string): string {
  const bare = host.replace(/^\[|\]$/g, "");
  const fits = isIP(bare) ? certificate.checkIP(bare) : certificate.checkHost(bare);
  if (fits !== undefined) return host;
  const names = [...(certificate.subjectAltName ?? "").matchAll(/DNS:([\w.-]+)(?=,|$)/g)].map(([, name]) => name);
  const [, common] = /^CN=([\w.-]+)$/m.exec(certificate.subject) ?? [];
  return names[0] ?? (names.length === 0 && common !== undefined && certificate.checkHost(common) ? common : host);
}
