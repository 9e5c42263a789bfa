import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startChild } from "../fixture/child_server.ts";
import { type Postern, startPostern } from "../harness.ts";
import { certificateFor, nameShown } from "../wire/certificate.ts";

// The process under test shares the tables and the data folder of a server that has made them.
let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern[Symbol.asyncDispose]());

test("SIGHUP makes a running process show a renewed certificate, and keep the old one while the new is broken", async () => {
  await using files = await certificateFor("old");
  await using renewed = await certificateFor("new");
  const { certFile: tlsCertFile, keyFile: tlsKeyFile } = files;
  await using child = await startChild({ ...postern.config, tlsCertFile, tlsKeyFile });
  expect(await nameShown(child.url)).toBe("old");
  await writeFile(tlsCertFile, await readFile(renewed.certFile));
  child.signal("SIGHUP");
  await child.line(({ msg }) => String(msg).startsWith("the certificate cannot be read"));
  expect(await nameShown(child.url)).toBe("old");
  await writeFile(tlsKeyFile, await readFile(renewed.keyFile));
  child.signal("SIGHUP");
  await child.line(({ msg }) => msg === "certificate read again");
  expect(await nameShown(child.url)).toBe("new");
});

test("SIGTERM ends a process in peace, and what it compiled is kept for the next", async () => {
  await using child = await startChild(postern.config, {});
  child.signal("SIGHUP");
  expect((await fetch(`${child.url}/readyz`)).status).toBe(200);
  child.signal("SIGTERM");
  expect(await child.exited).toEqual([0, null]);
  await access(join(postern.config.dataDir, "compiled"));
});
