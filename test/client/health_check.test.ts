import { expect, test } from "vitest";
import { checkHealth } from "../../src/client/health_check.ts";
import { startServer } from "../../src/server/server.ts";
import { startPostern } from "../harness.ts";
import { certificateFor } from "../wire/certificate.ts";
import { freePort } from "../wire/free_port.ts";

const portOf = (url: string | undefined) => Number(new URL(url ?? "").port);

test("a node that serves is ready, wherever it listens", async () => {
  await using postern = await startPostern({ operationsPort: 0 });
  const { config, url, operationsUrl } = postern;
  const port = portOf(url);
  const ready = { ok: true, line: `ready: http://127.0.0.1:${port}/readyz` };
  expect(await checkHealth({ ...config, port })).toEqual(ready);
  expect(await checkHealth({ ...config, port, host: "0.0.0.0" })).toEqual(ready);
  expect(await checkHealth({ ...config, port: 0, operationsPort: portOf(operationsUrl) })).toMatchObject({ ok: true });
});

test("a node that speaks TLS is ready, whatever names its certificate has", async () => {
  await using certificate = await certificateFor("id.example.com");
  const files = { tlsCertFile: certificate.certFile, tlsKeyFile: certificate.keyFile };
  await using postern = await startPostern();
  await using server = await startServer({ ...postern.config, ...files });
  const port = portOf(server.url);
  expect(await checkHealth({ ...postern.config, ...files, port })).toEqual({
    ok: true,
    line: `ready: https://127.0.0.1:${port}/readyz`,
  });
  expect(await checkHealth({ ...postern.config, port })).toMatchObject({ ok: false });
});

test("where nothing listens no node is ready, and the line tells why", async () => {
  const port = await freePort();
  const place = { host: "::1", port, operationsPort: undefined, tlsCertFile: "" };
  expect(await checkHealth(place)).toEqual({
    ok: false,
    line: `not ready: http://[::1]:${port}/readyz: ECONNREFUSED`,
  });
  expect(await checkHealth({ ...place, port: 0 })).toMatchObject({ ok: false, line: expect.stringContaining("PORT") });
});
