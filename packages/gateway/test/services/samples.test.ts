import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { Called } from "../../src/services/docs/called.ts";
import { samplesOf } from "../../src/services/docs/samples.ts";

const parameter = (name: string, where: "path" | "query", required = true) => ({
  ...{ name, in: where, required },
  schema: { type: "string" },
});

const called: Called = {
  verb: "POST",
  path: "/v1/users/{userId}/notes:add",
  rpc: "/notes.v1.NoteService/AddNote",
  needsToken: true,
  parameters: [parameter("userId", "path"), parameter("page.size", "query"), parameter("odd", "query", false)],
  body: { text: 'it\'s `$5` & "true" null\n', shared: true, end: null },
  bodyField: undefined,
  isStream: false,
};

const samples = (more: Partial<Called> = {}) =>
  Object.fromEntries(samplesOf({ ...called, ...more }).map(({ language, code }) => [language, code]));

/** The arguments that a shell makes of a command. */
function argumentsOf(command: string): string[] {
  const show = `show() { for one; do printf '%s\\0' "$one"; done; }; curl() { show "$@"; }; grpcurl() { show "$@"; };`;
  const env = { ...process.env, URL: "https://api.example:8443", TOKEN: "t0", USER_ID: 'a"b', PAGE_SIZE: "5" };
  return execFileSync("sh", ["-c", `${show}\n${command}`], { env, encoding: "utf8" })
    .split("\0")
    .slice(0, -1);
}

test("curl gets path, query, token and body, whatever signs are in them", () => {
  const given = argumentsOf(samples().curl ?? "");
  expect(given.slice(0, 3)).toEqual(["-X", "POST", 'https://api.example:8443/v1/users/a"b/notes:add']);
  expect(given.slice(3, 5)).toEqual(["--url-query", "page.size=5"]);
  expect(given).toContain("authorization: Bearer t0");
  expect(JSON.parse(given.at(-1) ?? "")).toEqual(called.body);
});

test("grpcurl gets one message of parameters and body, and the address without its scheme", () => {
  const given = argumentsOf((samples().grpcurl ?? "").replaceAll("$USER_ID", "u1"));
  expect(given.slice(-2)).toEqual(["api.example:8443", "notes.v1.NoteService/AddNote"]);
  const message = JSON.parse(given[given.indexOf("-d") + 1] ?? "");
  expect(message).toEqual({ userId: "u1", page: { size: "5" }, ...Object(called.body) });
});

test("a body that is one field stands in its field for gRPC", () => {
  const { grpcurl = "" } = samples({ parameters: [], body: { name: "Ada" }, bodyField: "human" });
  expect(grpcurl).toContain(`'{ "human": { "name": "Ada" } }'`);
});

test("Python writes its own words for those of JSON, and leaves texts alone", () => {
  expect(samples().Python).toContain('"shared": True');
  expect(samples().Python).toContain('"end": None');
  expect(samples().Python).toContain('\\"true\\" null\\n"');
});

test("Go quotes a body that has back quotes", () => {
  expect(samples().Go).toContain('strings.NewReader("{');
  expect(samples({ body: { a: 1 } }).Go).toContain('strings.NewReader(`{ "a": 1 }`)');
  const { Go = "" } = samples({ body: undefined });
  expect(Go).not.toContain('"strings"');
  expect(Go).toContain(", nil)");
});

test("a call that anyone may make presents no token", () => {
  for (const code of Object.values(samples({ needsToken: false }))) expect(code).not.toContain("TOKEN");
});

test("a stream is shown as it comes", () => {
  const streamed = samples({ isStream: true, body: undefined, verb: "GET" });
  expect(streamed.curl).toContain("curl -N -X GET");
  expect(streamed.Python).toContain("for line in response");
  expect(streamed.TypeScript).toContain("for await");
});
