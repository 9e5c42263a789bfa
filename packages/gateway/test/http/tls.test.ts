import { readFile, writeFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { certificateFor, nameShown } from "../../../../test/wire/certificate.ts";
import { openSocket, readUntil } from "../../../../test/wire/tcp.ts";
import type { Certificate } from "../../src/http/tls.ts";
import { openSample } from "../sample_gateway.ts";

const secured = async (certificate: Certificate, headerTimeoutMs = 60_000) =>
  openSample({ headerTimeoutMs }, { certificate });
const trusting = { rejectUnauthorized: false };

const overHttp1 = (url: string) =>
  new Promise<{ version: string; text: string }>((resolve, reject) => {
    request(`${url}/one/ada`, trusting, async (answer) => {
      let text = "";
      for await (const part of answer) text += part;
      resolve({ version: answer.httpVersion, text });
    })
      .on("error", reject)
      .end();
  });

async function overHttp2(url: string): Promise<string> {
  const session = connectHttp2(url, trusting);
  let text = "";
  for await (const part of session.request({ ":path": "/one/ada" })) text += part;
  session.destroy();
  return text;
}

test("with a certificate the port speaks TLS, and both versions of HTTP by ALPN", async () => {
  await using certificate = await certificateFor("localhost");
  await using port = await secured(certificate);
  expect(port.url).toMatch(/^https:/);
  expect(await overHttp1(port.url)).toMatchObject({ version: "1.1", text: expect.stringContaining('"name":"ada"') });
  expect(await overHttp2(port.url)).toContain('"name":"ada"');
});

test("clear text, half a handshake and silence are cut, and end nothing", async () => {
  await using certificate = await certificateFor("localhost");
  await using port = await secured(certificate, 2000);
  for (const bytes of ["GET / HTTP/1.1\r\nhost: a\r\n\r\n", "\x16\x03\x01\x02\x00\x01", ""]) {
    const socket = await openSocket(port);
    socket.write(bytes, "latin1");
    expect(await readUntil(socket)).not.toContain("HTTP/1.1 200");
  }
  const reset = await openSocket(port);
  reset.resetAndDestroy();
  expect(await overHttp2(port.url)).toContain('"name":"ada"');
});

test("a renewed certificate is shown after reloading, and a broken one is not taken", async () => {
  await using certificate = await certificateFor("old");
  await using renewed = await certificateFor("new");
  await using port = await secured(certificate);
  expect(await nameShown(port.url)).toBe("old");
  await writeFile(certificate.certFile, await readFile(renewed.certFile));
  await expect(port.reload()).rejects.toThrow();
  expect(await nameShown(port.url)).toBe("old");
  await writeFile(certificate.keyFile, await readFile(renewed.keyFile));
  await port.reload();
  expect(await nameShown(port.url)).toBe("new");
});

test("a request that comes in several records while a large answer is on its way is answered after it", async () => {
  await using certificate = await certificateFor("localhost");
  // More than the buffers of both ends hold.
  const name = "a".repeat(20_000_000);
  const options = { certificate, handler: async () => ({ name }) };
  await using port = await openSample({ messageMaxBytes: 100_000 }, options);
  const socket = connect({ port: Number(new URL(port.url).port), host: "127.0.0.1", ...trusting });
  socket.write("GET /one/ada HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await new Promise((resolve) => socket.once("readable", resolve));
  const body = JSON.stringify({ tags: ["b".repeat(50_000)] });
  const headers = ["host: localhost", "content-type: application/json", `content-length: ${body.length}`];
  socket.write(`POST /do HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`);
  let answers = 0;
  for await (const part of socket) {
    answers += String(part).split("HTTP/1.1 200").length - 1;
    if (answers === 2) break;
  }
  expect(answers).toBe(2);
});
