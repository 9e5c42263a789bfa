import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { Config } from "./config.ts";
import { makeDataFolder } from "./data_folder.ts";
import { ConfigError } from "./setting.ts";

/** Checks, before anything is created, what would fail later in the start: the data folder, the certificate, ports in use. */
export async function preflight(config: Config): Promise<void> {
  const { databaseUrl, dataDir, tlsCertFile, tlsKeyFile } = config;
  if (tlsCertFile) await checkCertificate(tlsCertFile, tlsKeyFile);
  await checkPorts(config);
  if (!databaseUrl) await makeDataFolder(dataDir);
}

async function checkCertificate(certFile: string, keyFile: string): Promise<void> {
  const certificate = await readAs("TLS_CERT_FILE", certFile, certificateIn);
  const key = await readAs("TLS_KEY_FILE", keyFile, keyIn);
  if (!certificate.checkPrivateKey(key))
    throw new ConfigError(
      `TLS_KEY_FILE is ${keyFile}, which is not the key of the certificate in TLS_CERT_FILE (${certFile})`,
    );
}

async function readAs<T>(setting: string, file: string, parse: (text: string) => T): Promise<T> {
  const text = await readFile(file, "utf8").catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new ConfigError(`${setting} is ${file}, which cannot be read (${reasons[code ?? ""] ?? message})`);
  });
  try {
    return parse(text);
  } catch (error) {
    throw error instanceof WrongPem ? new ConfigError(`${setting} is ${file}, which ${error.message}`) : error;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EACCES: "permission denied",
  EISDIR: "it is a folder",
};

class WrongPem extends Error {}

function certificateIn(text: string): X509Certificate {
  if (!/-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/.test(text))
    throw new WrongPem(
      `contains no PEM certificate${/-----BEGIN [\w ]*PRIVATE KEY-----/.test(text) ? ", but a key" : ""}`,
    );
  try {
    return new X509Certificate(text);
  } catch {
    throw new WrongPem("contains a certificate that cannot be read");
  }
}

function keyIn(text: string): KeyObject {
  if (!/-----BEGIN [\w ]*PRIVATE KEY-----/.test(text))
    throw new WrongPem(
      `contains no PEM private key${/-----BEGIN CERTIFICATE-----/.test(text) ? ", but a certificate" : ""}`,
    );
  try {
    return createPrivateKey(text);
  } catch {
    throw new WrongPem("contains a key that cannot be read; if it is encrypted, decrypt it first");
  }
}

/** Binds both ports and releases them; the server binds them again once its database is open. */
async function checkPorts({ host, port, operationsPort }: Config): Promise<void> {
  await using held = new AsyncDisposableStack();
  for (const one of [port, operationsPort ?? 0]) {
    if (one === 0) continue;
    const server = createServer().listen(one, host);
    await once(server, "listening");
    held.defer(async () => {
      server.close();
      await once(server, "close");
    });
  }
}
