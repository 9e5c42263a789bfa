import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:tls";

/** The files of a certificate chain and its key, in PEM. */
export type Certificate = { readonly certFile: string; readonly keyFile: string };

/** A TLS server without a port of its own; its certificate can be reloaded. */
export type Encryption = { readonly server: Server; readonly reload: () => Promise<void> };

/** Loads a certificate; ALPN offers HTTP/2 and HTTP/1.1. */
export async function encryption(certificate: Certificate, handshakeTimeout: number): Promise<Encryption> {
  const options = { minVersion: "TLSv1.2", ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout } as const;
  const server = createServer({ ...options, ...(await pemOf(certificate)) });
  server.on("tlsClientError", (_, socket) => socket.destroy());
  return {
    server,
    // Open connections keep their certificate.
    reload: async () => server.setSecureContext({ minVersion: options.minVersion, ...(await pemOf(certificate)) }),
  };
}

async function pemOf({ certFile, keyFile }: Certificate) {
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
  return { cert, key };
}
