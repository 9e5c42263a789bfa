import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compiled } from "../compiled.ts";
import { program } from "../program.ts";
import { certificateFor } from "../wire/certificate.ts";

const isRoot = process.geteuid?.() === 0;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-preflight-"));
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts with settings that stop it; root may write anywhere, so that another user starts it. */
function start(env: Readonly<Record<string, string>>, as: { uid?: number } = {}) {
  return new Promise<{ code: unknown; stderr: string }>((resolve) =>
    execFile(
      process.execPath,
      [program],
      { env: { ...compiled, PORT: "0", ...env }, ...as },
      (error, _stdout, stderr) => resolve({ code: error?.code ?? 0, stderr }),
    ),
  );
}

const sentence = (text: string) => ({ code: 1, stderr: `postern: ${text}\n` });
const unusable = (path: string, why: string) =>
  sentence(
    `POSTERN_DATA_DIR is ${path}, which cannot be used (${why}): set it to a folder that this user can write to`,
  );

test("a data folder that is a file, below a file, or where there can be none, is one sentence", async () => {
  const file = join(folder, "file");
  await writeFile(file, "");
  const of = (path: string) => start({ POSTERN_DATA_DIR: path });
  expect(await of(file)).toEqual(unusable(file, "it is not a folder"));
  expect(await of(join(file, "data"))).toEqual(unusable(join(file, "data"), "it is not a folder, or is below a file"));
  expect(await of("/proc/data")).toEqual(unusable("/proc/data", "no folder can be created there"));
});

test("a data folder that may not be written, or made, is one sentence", async () => {
  const closed = join(folder, "closed");
  await mkdir(closed, { mode: 0o555 });
  const as = isRoot ? { uid: 65_534 } : {};
  for (const path of [closed, join(closed, "data")])
    expect(await start({ POSTERN_DATA_DIR: path }, as)).toEqual(unusable(path, "permission denied"));
});

test("files of TLS that are missing, folders, swapped, or of two certificates, are one sentence", async () => {
  await using one = await certificateFor("one.example");
  await using other = await certificateFor("other.example");
  const data = join(folder, "none");
  const of = (certFile: string, keyFile: string) =>
    start({ POSTERN_DATA_DIR: data, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile });
  const { certFile, keyFile } = one;
  expect(await of("/nope", keyFile)).toEqual(
    sentence("TLS_CERT_FILE is /nope, which cannot be read (there is no such file)"),
  );
  expect(await of(certFile, folder)).toEqual(
    sentence(`TLS_KEY_FILE is ${folder}, which cannot be read (it is a folder)`),
  );
  expect(await of(keyFile, certFile)).toEqual(
    sentence(`TLS_CERT_FILE is ${keyFile}, which contains no PEM certificate, but a key`),
  );
  expect(await of(certFile, certFile)).toEqual(
    sentence(`TLS_KEY_FILE is ${certFile}, which contains no PEM private key, but a certificate`),
  );
  expect(await of(certFile, other.keyFile)).toEqual(
    sentence(
      `TLS_KEY_FILE is ${other.keyFile}, which is not the key of the certificate in TLS_CERT_FILE (${certFile})`,
    ),
  );
});

test("a port that is taken is found before anything is made", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const data = join(folder, "data");
  const { code, stderr } = await start({ POSTERN_DATA_DIR: data, PORT: "0", OPERATIONS_PORT: String(port) });
  expect([code, stderr]).toEqual([
    1,
    `postern: 127.0.0.1:${port} is in use: stop the program that listens there, or set PORT or OPERATIONS_PORT\n`,
  ]);
  expect(existsSync(join(data, "postgres"))).toBe(false);
  server.close();
});
