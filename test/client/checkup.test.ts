import { expect, test } from "vitest";
import { startServer } from "../../src/server/server.ts";
import { startPostern } from "../harness.ts";
import { postern as program } from "../program/command.ts";
import { certificateFor } from "../wire/certificate.ts";

const names = ["tls", "health", "readiness", "clock", "version", "grpc.health.v1", "reflection"];
const doors = ["connect", "grpc", "grpc-web", "rest"];

test("doctor --url checks a service from outside, and its doors take the token", async () => {
  await using postern = await startPostern();
  const checked = await program(["doctor", "--url", postern.url], {
    env: { POSTERN_ADMIN_TOKEN: postern.config.adminToken ?? "" },
  });
  expect(checked.code).toBe(0);
  const lines = checked.out.trim().split("\n");
  expect(lines.map((line) => /^ok {4}([\w.-]+): /.exec(line)?.[1])).toEqual([...names, ...doors]);
  expect(lines.slice(-4)).toEqual(doors.map((door) => `ok    ${door}: responds, and accepts the token`));
});

test("doctor --url warns of a certificate that ends soon, and fails one that is not trusted", async () => {
  await using certificate = await certificateFor("localhost");
  await using postern = await startPostern();
  const files = { tlsCertFile: certificate.certFile, tlsKeyFile: certificate.keyFile };
  // Another node on the same database, since the clients of the harness trust no certificate of ours.
  await using secure = await startServer({ ...postern.config, ...files });
  const url = secure.url.replace("127.0.0.1", "localhost");
  const trusting = await program(["doctor", "--url", url, "--ca-file", certificate.certFile]);
  expect([trusting.code, trusting.out]).toEqual([
    0,
    expect.stringMatching(/^warn {2}tls: TLSv1.3, h2, .* expires in 0 days/),
  ]);
  expect(trusting.out).toContain("ok    grpc: responds, and requires a token\n");
  const doubting = await program(["doctor", "--url", url]);
  expect([doubting.code, doubting.out]).toEqual([1, expect.stringMatching(/^FAIL {2}tls: .*not trusted: DEPTH_ZERO/)]);
});

test("doctor --url says that nothing answers, and keeps to its options", async () => {
  const { code, out } = await program(["doctor", "--url", "http://127.0.0.1:1"]);
  expect([code, out]).toEqual([1, expect.stringContaining("FAIL  health: http://127.0.0.1:1 does not respond: ")]);
  expect((await program(["doctor", "--url", "http://127.0.0.1:1", "--rebuild"])).code).toBe(2);
  expect((await program(["doctor", "--ca-file", "x"])).code).toBe(2);
});
