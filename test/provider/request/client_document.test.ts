import { expect, onTestFinished, test, vi } from "vitest";
import { clientDocuments } from "../../../src/provider/request/client_document.ts";
import { isAdmitted, isDocumentId } from "../../../src/provider/request/document_id.ts";

const url = "https://app.example/client.json";
const redirectUris = ["https://app.example/cb", "http://127.0.0.1/cb"];
const document = { client_id: url, redirect_uris: redirectUris };
const minute = 60_000;
const limits = { clientDocumentsPerAddressPerMinute: 20, clientDocumentsPerHostPerMinute: 30 };

type Headers = Readonly<Record<string, string>>;

const nobody = async () => false;

/** A reader of documents at a place that answers as it is told, and a clock that stands still. */
function reader(headers: Headers = {}) {
  const ready = Promise.resolve();
  const state = { now: 0, reads: 0, text: JSON.stringify(document), headers, fails: false, ready };
  const read = clientDocuments(
    async (at) => {
      state.reads += 1;
      await state.ready;
      if (state.fails) throw new Error("away");
      return { text: at === url ? state.text : JSON.stringify({ ...document, client_id: at }), headers: state.headers };
    },
    limits,
    () => state.now,
  );
  const problemOf = (at = url, network = "192.0.2.1", isClient = false) =>
    read(at, network, async () => isClient).then(
      () => undefined,
      (error) => error.description ?? error.problem,
    );
  return { state, read, problemOf };
}

test("a client id is the URL of a document only in normal form, and is compared by bytes", () => {
  expect(isDocumentId(url)).toBe(true);
  const others = [
    ...[
      "http://app.example/c",
      "https://app.example",
      "https://app.example/",
      "https://app.example/c?d",
      "app.example/c",
    ],
    ...["https://app.example/c#d", "https://u@app.example/c", "https://u:p@app.example/c", "https://APP.example/c"],
    ...["https://app.example:443/c", "https://app.example/a/../c", "https://app.example/./c", "https://app.example/c?"],
    ...["https://аpp.example/c", "https://app.example/ü", " https://app.example/c", "https://app.example\\c"],
    ...["https://app.example/c#", `https://app.example/${"c".repeat(200)}`],
  ];
  for (const other of others) expect([other, isDocumentId(other)]).toEqual([other, false]);
});

test("only the hosts that are listed are admitted, each with its own port, and the look-alike of one is another", () => {
  const some = { clientDocumentHosts: ["app.example", "localhost:8443"] };
  expect(isAdmitted(some, url)).toBe(true);
  expect(isAdmitted(some, "https://localhost:8443/c")).toBe(true);
  const others = [
    "https://app.example:8443/c",
    "https://localhost/c",
    "https://a.app.example/c",
    "https://app.example.org/c",
  ];
  for (const other of [...others, "https://xn--pp-7kc.example/c"])
    expect([other, isAdmitted(some, other)]).toEqual([other, false]);
  expect(isAdmitted({ clientDocumentHosts: [] }, url)).toBe(false);
  expect(isAdmitted({ clientDocumentHosts: ["*"] }, "https://xn--pp-7kc.example/c")).toBe(true);
});

test("a document counts if it names its URL, has no secret, and leads to its own origin or the user's device", async () => {
  const strange = [
    ...["https://evil.example/cb", "https://app.example.evil.example/cb", "https://app.example@evil.example/cb"],
    ...["http://app.example/cb", "https://app.example:8443/cb", "com.example:/cb", "javascript:alert(1)", "cb"],
    ...["http://127.0.0.1.evil.example/cb", "http://localhost@evil.example/", "https://app.example"],
  ];
  const { state, read } = reader();
  state.text = JSON.stringify({ ...document, redirect_uris: [...redirectUris, ...strange].slice(0, 20) });
  const nothing = { dpopBoundAccessTokens: false, requirePushedAuthorizationRequests: false };
  expect(await read(url, undefined, nobody)).toEqual({ redirectUris, postLogoutRedirectUris: [], ...nothing });
  const wrong: readonly (readonly [unknown, string])[] = [
    [{ ...document, client_id: "https://app.example/client.json/" }, "client_id is not its URL"],
    [{ redirect_uris: redirectUris }, "client_id is not its URL"],
    [{ ...document, client_secret: "s" }, "must be none"],
    [{ ...document, token_endpoint_auth_method: "private_key_jwt" }, "must be none"],
    [{ ...document, redirect_uris: [] }, "redirect_uris must be a list"],
    [{ ...document, redirect_uris: Array(21).fill(redirectUris[0]) }, "redirect_uris must be a list"],
    [{ ...document, redirect_uris: "https://app.example/cb" }, "redirect_uris must be a list"],
    [{ ...document, redirect_uris: [7] }, "redirect_uris must be a list"],
    ...[[], null, 7, "text"].map((value) => [value, "is no JSON object"] as const),
  ];
  for (const [value, problem] of wrong) {
    const asked = reader();
    asked.state.text = JSON.stringify(value);
    expect([value, await asked.problemOf()]).toEqual([value, expect.stringContaining(problem)]);
  }
  const html = reader();
  html.state.text = "<html>";
  expect(await html.problemOf()).toContain("is no JSON object");
});

test("a document is kept as long as its headers say, within a minute and a day", async () => {
  const rows: readonly (readonly [Headers, number])[] = [
    [{}, 300],
    [{ "cache-control": "no-store" }, 60],
    [{ "cache-control": "max-age=0" }, 60],
    [{ "cache-control": "public, max-age=600" }, 600],
    [{ "cache-control": "max-age=600", age: "200" }, 400],
    [{ "cache-control": "max-age=999999999" }, 86_400],
    [{ expires: "Thu, 01 Jan 2026 00:10:00 GMT", date: "Thu, 01 Jan 2026 00:00:00 GMT" }, 600],
    [{ expires: "0", date: "Thu, 01 Jan 2026 00:00:00 GMT" }, 60],
  ];
  for (const [headers, seconds] of rows) {
    const { state, read } = reader(headers);
    await read(url, undefined, nobody);
    state.now = seconds * 1000 - 1;
    await read(url, undefined, nobody);
    expect([headers, state.reads]).toEqual([headers, 1]);
    state.now += 1;
    await Promise.all(Array.from({ length: 50 }, () => read(url, undefined, nobody)));
    expect([headers, state.reads]).toEqual([headers, 2]);
  }
});

test("redirect URIs that a document loses between two requests are gone with the next reading", async () => {
  const { state, read } = reader({ "cache-control": "max-age=60" });
  expect((await read(url, undefined, nobody)).redirectUris).toEqual(redirectUris);
  state.text = JSON.stringify({ ...document, redirect_uris: ["https://app.example/other"] });
  expect((await read(url, undefined, nobody)).redirectUris).toEqual(redirectUris);
  state.now = minute;
  expect((await read(url, undefined, nobody)).redirectUris).toEqual(["https://app.example/other"]);
});

test("a failure counts for a minute, whoever asks meanwhile, and replaces what was read before", async () => {
  const { state, problemOf } = reader({ "cache-control": "max-age=60" });
  expect(await problemOf()).toBe(undefined);
  [state.now, state.fails] = [minute, true];
  const fifty = () => Promise.all(Array.from({ length: 50 }, () => problemOf()));
  expect(new Set(await fifty())).toEqual(new Set([expect.stringContaining("public address")]));
  [state.now, state.fails] = [2 * minute - 1, false];
  expect(await problemOf()).toContain("public address");
  expect(state.reads).toBe(2);
  state.now = 2 * minute;
  expect(await problemOf()).toBe(undefined);
});

test("a document that is known stays known where others leave no place to read it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { state, problemOf } = reader({ "cache-control": "max-age=60" });
  expect(await problemOf()).toBe(undefined);
  const silent = Promise.withResolvers<void>();
  [state.now, state.ready] = [minute, silent.promise];
  const others = Array.from({ length: 32 }, (_, n) => problemOf(`https://h${n}.example/c`, `198.51.100.${n}`));
  const atHost = Array.from({ length: 30 }, (_, n) => problemOf(`https://app.example/${n}`, `203.0.113.${n}`));
  const late = problemOf();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await late).toContain("public address");
  silent.resolve();
  await Promise.all([...others, ...atHost]);
  expect(await problemOf("https://app.example/one-more", "203.0.113.99")).toBe("busy");
  expect(await problemOf()).toBe(undefined);
});

test("one network has few documents read in a minute, and so has one host, but those that are known are read again", async () => {
  const { state, problemOf } = reader({ "cache-control": "max-age=60" });
  expect(await problemOf(url, "198.51.100.1")).toBe(undefined);
  const thousand = (network: (n: number) => string, at: (n: number) => string) =>
    Promise.all(Array.from({ length: 1_000 }, (_, n) => problemOf(at(n), network(n))));
  const ofOne = await thousand(
    () => "192.0.2.1",
    (n) => `https://h${n}.example/c`,
  );
  expect(ofOne.filter((problem) => problem === undefined)).toHaveLength(20);
  expect(new Set(ofOne)).toEqual(new Set([undefined, "busy"]));
  const atOne = await thousand(
    (n) => `198.51.${n % 250}.${Math.trunc(n / 250)}`,
    (n) => `https://app.example/${n}`,
  );
  expect(atOne.filter((problem) => problem === undefined)).toHaveLength(29);
  const atPorts = await thousand(
    (n) => `198.51.${n % 250}.${100 + Math.trunc(n / 250)}`,
    (n) => `https://app.example${n % 2 === 0 ? "." : ""}:${1_000 + n}/c`,
  );
  expect(new Set(atPorts)).toEqual(new Set(["busy"]));
  state.now = minute;
  state.reads = 0;
  await thousand(
    (n) => `203.0.${n % 250}.${Math.trunc(n / 250)}`,
    (n) => `https://app.example/more${n}`,
  );
  expect(await problemOf(url, "203.0.113.1")).toBe(undefined);
});

test("documents that cannot be used, however many, evict none that can", async () => {
  const { state, problemOf } = reader({ "cache-control": "max-age=120" });
  expect(await problemOf()).toBe(undefined);
  state.fails = true;
  const failing = Array.from({ length: 1_500 }, (_, n) => problemOf(`https://h${n}.example/c`, `198.51.100.${n % 75}`));
  expect(new Set(await Promise.all(failing))).toEqual(new Set([expect.stringContaining("public address")]));
  [state.fails, state.reads] = [false, 0];
  const exhausted = "198.51.100.1";
  expect(await problemOf("https://late.example/c", exhausted)).toBe("busy");
  expect([await problemOf(url, exhausted), state.reads]).toEqual([undefined, 0]);
  state.now = 2 * minute - 1;
  expect([await problemOf(url, exhausted), state.reads]).toEqual([undefined, 0]);
});

test("a document that is a client already is read where others are too many, once for all who ask", async () => {
  const { state, problemOf } = reader();
  state.fails = true;
  for (let n = 0; n < 30; n++) await problemOf(`https://app.example/${n}`, `198.51.100.${n}`);
  [state.fails, state.reads] = [false, 0];
  expect(await problemOf(url, "203.0.113.1")).toBe("busy");
  const fifty = Array.from({ length: 50 }, () => problemOf(url, "203.0.113.1", true));
  expect(new Set(await Promise.all(fifty))).toEqual(new Set([undefined]));
  expect(state.reads).toBe(1);
});
