import { execFile } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A registry that is asked about vulnerabilities: its advisories, or the status of its refusal. */
type Registry = AsyncDisposable & { readonly url: string; readonly asked: Record<string, string[]>[] };

const advisory = {
  id: 1,
  url: "https://example.com/advisories/1",
  title: "Lines may be forged",
  severity: "high",
  vulnerable_versions: "<999.0.0",
  cwe: [],
  cvss: { score: 7.5, vectorString: null },
};

/** Starts a registry that answers as npm's does. */
async function startRegistry(answer: object | number): Promise<Registry> {
  const asked: Registry["asked"] = [];
  const server = createServer(async (request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.url !== "/-/npm/v1/security/advisories/bulk") return response.writeHead(404).end("{}");
    asked.push(await questionOf(request));
    if (typeof answer === "number") return response.writeHead(answer).end("{}");
    return response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${port}/`, asked, [Symbol.asyncDispose]: close };
}

async function questionOf(request: IncomingMessage): Promise<Record<string, string[]>> {
  const bytes = await buffer(request);
  return JSON.parse(String(request.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes));
}

/** Runs the check as .ci/run does, with the npm that is installed. */
const audit = (url: string) =>
  new Promise<{ readonly code: number; readonly text: string }>((resolve) => {
    const settings = { npm_config_registry: url, npm_config_fetch_retries: "0", npm_config_audit: "true" };
    execFile("sh", [".ci/audit"], { cwd: root, env: { ...process.env, ...settings } }, (error, text) =>
      resolve({ code: error ? Number(error.code) : 0, text }),
    );
  });

test("a known vulnerability of a package that is shipped fails the check, and is named with where to read about it", async () => {
  await using registry = await startRegistry({ pino: [advisory] });
  expect(await audit(registry.url)).toEqual({
    code: 1,
    text: "pino, high, <999.0.0: Lines may be forged, https://example.com/advisories/1\n",
  });
});

test("packages that depend on a vulnerable one are named with the way to it", async () => {
  await using registry = await startRegistry({ split2: [advisory] });
  const { code, text } = await audit(registry.url);
  expect([code, text.split("\n")]).toEqual([
    1,
    expect.arrayContaining(["pino, high, by pino-abstract-transport", "pino-abstract-transport, high, by split2"]),
  ]);
});

test("without an advisory the check is silent, and packages that only developers have are not asked about", async () => {
  await using registry = await startRegistry({});
  expect(await audit(registry.url)).toEqual({ code: 0, text: "" });
  expect(Object.keys(registry.asked[0] ?? {})).toEqual(expect.arrayContaining(["pino", "postgres"]));
  expect(registry.asked[0]).not.toHaveProperty("vitest");
});

test("an advisory about a package that only developers have fails nothing", async () => {
  await using registry = await startRegistry({ vitest: [advisory] });
  expect((await audit(registry.url)).code).toBe(0);
});

test.each([403, 404, 500])(
  "a registry that refuses with %i is said, and the check counts as skipped",
  async (status) => {
    await using registry = await startRegistry(status);
    expect(await audit(registry.url)).toEqual({
      code: 77,
      text: "the registry does not answer questions about vulnerabilities: nothing was checked\n",
    });
  },
);
