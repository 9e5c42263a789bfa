import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { eventually, type NodeOptions, startNode } from "../first_start.ts";
import { certificateFor } from "../wire/certificate.ts";

async function folder() {
  const path = await mkdtemp(join(tmpdir(), "postern-welcome-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Starts a node, interrupts it once it has said how to stop it, and answers its output. */
async function started(options: NodeOptions): Promise<string> {
  await using node = await startNode(options);
  await eventually(() => /^Stop .*\n/m.test(node.output()) || undefined, "the lines");
  node.signal("SIGINT");
  await node.exited;
  return node.output();
}

const rowsIn = (output: string) =>
  [...output.matchAll(/^(\w+) {1,5}(?=\S)(.*)$/gm)].map(([, name, text]) => [name, text]);

test("the first start says what it made, where everything is and how to stop; on a terminal the later ones too, and goodbye", async () => {
  await using database = await freshDatabase();
  await using data = await folder();
  const options = { databaseUrl: database.url, dataDir: data.path, env: { HOST: "0.0.0.0", LOG_FORMAT: "pretty" } };
  const first = await started(options);
  const rows = Object.fromEntries(rowsIn(first));
  expect(Object.keys(rows).slice(0, 6)).toEqual(["Ready", "New", "Data", "Docs", "Again", "Stop"]);
  expect(rows.Ready).toMatch(/^Postern is serving at http:\/\/localhost:\d+$/);
  expect(rows.Data).toContain(data.path);
  expect(first.match(/^# \d\. /gm)).toHaveLength(4);
  expect(first).toMatch(/\nGoodbye: running calls finish first; Ctrl-C again ends them at once\.\n/);
  const later = await started(options);
  expect(Object.keys(Object.fromEntries(rowsIn(later))).slice(0, 4)).toEqual(["Ready", "Data", "Docs", "Stop"]);
  expect(later).not.toContain("curl");
});

test("with TLS the lines say https, by the name of the certificate, and trust one that signs itself", async () => {
  await using database = await freshDatabase();
  await using data = await folder();
  await using certificate = await certificateFor("localhost");
  const { certFile, keyFile } = certificate;
  const env = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, PORT_SERVES: "none" };
  const output = await started({ databaseUrl: database.url, dataDir: data.path, env });
  expect(output).toMatch(/^Ready +Postern is serving at https:\/\/localhost:\d+$/m);
  expect(output.match(/^curl -X \w+ https:\/\/localhost:/gm)).toHaveLength(4);
  expect(output.split(`\n  --cacert ${certFile} \\\n`)).toHaveLength(5);
  // Documents that are not served are not promised, and without a terminal nobody reads a goodbye.
  expect(output).not.toMatch(/^Docs |Goodbye/m);
});
