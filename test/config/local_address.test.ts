import { expect, test } from "vitest";
import { localAddress, localUrl } from "../../src/config/local_address.ts";
import { certificateFor } from "../wire/certificate.ts";

test("the address is one that this machine can call", () => {
  const of = (host: string, tlsCertFile = "") => localUrl({ host, port: 8080, tlsCertFile });
  expect([of("0.0.0.0"), of("::"), of("::1"), of("192.0.2.1", "cert.pem")]).toEqual([
    "http://127.0.0.1:8080",
    "http://[::1]:8080",
    "http://[::1]:8080",
    "https://192.0.2.1:8080",
  ]);
});

test("the address that is printed is the one whose pages sign in", async () => {
  const of = async (host: string) => (await localAddress({ host, port: 8080, tlsCertFile: "" })).url;
  expect(await Promise.all(["127.0.0.1", "0.0.0.0", "::", "::1", "192.0.2.1"].map(of))).toEqual([
    ...Array(4).fill("http://localhost:8080"),
    "http://192.0.2.1:8080",
  ]);
});

test("with a certificate that signs itself, curl trusts that one, and calls its name", async () => {
  await using certificate = await certificateFor("id.example");
  const of = (host: string) => localAddress({ host, port: 8443, tlsCertFile: certificate.certFile });
  expect(await of("0.0.0.0")).toEqual({
    url: "https://id.example:8443",
    curl: [`--cacert ${certificate.certFile}`, "--resolve id.example:8443:127.0.0.1"],
  });
  expect((await of("id.example")).curl).toEqual([`--cacert ${certificate.certFile}`]);
});
