import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import type { Certificate } from "../../packages/gateway/src/http/tls.ts";

/** A certificate that signs itself, and goes when it is disposed. */
export async function certificateFor(name: string): Promise<Certificate & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "postern-tls-"));
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  execFileSync("openssl", [...kind, "-subj", `/CN=${name}`, "-keyout", keyFile, "-out", certFile], { stdio: "ignore" });
  return { certFile, keyFile, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** The name in the certificate that a server shows. */
export const nameShown = (url: string) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    }).on("error", reject);
  });
