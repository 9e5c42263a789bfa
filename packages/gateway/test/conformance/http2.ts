import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultLimits, gateway, listen } from "../../src/gateway.ts";
import { http2 as implementation } from "../http/implementation.ts";

const version = "v2.2.1+incompatible";
const module = `github.com/summerwind/h2spec/cmd/h2spec@${version}`;

/** Runs h2spec, which tests the rules of RFC 9113 and RFC 7541, against our port; returns whether all passed.
 * Over TLS, where no bytes are taken for HTTP/1.1. */
async function http2(more: readonly string[]): Promise<boolean> {
  if (spawnSync("go", ["version"]).status !== 0) {
    console.log("h2spec: skipped, for it is built with Go, and there is none here");
    return true;
  }
  const runner = installed();
  await using certificate = ownCertificate();
  const { handle } = gateway({ routes: () => {} });
  await using port = await listen({
    host: "127.0.0.1",
    port: 0,
    limits: defaultLimits,
    certificate,
    http2: implementation,
    handle(exchange) {
      // An answer before the end of the request would be followed by frames that the suite takes for an error.
      exchange.receive({ data() {}, overloaded() {}, end: () => handle(exchange) });
    },
  });
  const target = ["--host", "127.0.0.1", "--port", new URL(port.url).port, "--tls", "--insecure"];
  const options = ["--strict", ...target, ...more];
  const running = spawn(runner, options, { stdio: "inherit" });
  // Waited for here: the port is closed when this function is left.
  return await new Promise((resolve) => running.on("close", (code) => resolve(code === 0)));
}

function ownCertificate() {
  const folder = mkdtempSync(join(tmpdir(), "postern-h2spec-"));
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  execFileSync("openssl", [...kind, "-subj", "/CN=localhost", "-keyout", keyFile, "-out", certFile], {
    stdio: "ignore",
  });
  return { certFile, keyFile, [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };
}

function installed(): string {
  const folder = join(tmpdir(), `postern-h2spec-${version}`);
  const runner = join(folder, "h2spec");
  if (existsSync(runner)) return runner;
  execFileSync("go", ["install", module], { stdio: "inherit", env: { ...process.env, GOBIN: folder } });
  return runner;
}

process.exitCode = (await http2(process.argv.slice(2))) ? 0 : 1;
