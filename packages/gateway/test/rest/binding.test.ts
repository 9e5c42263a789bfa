import { afterAll, beforeAll, expect, test } from "vitest";
import { openSample, type SampleServer } from "../sample_gateway.ts";
import type { SampleRpc } from "../sample_service.ts";
import { callRest, filled, reasonOf, wrongFields } from "./rest_call.ts";

const get = (path: string) => ({ pattern: { case: "get", value: path } }) as const;
const post = (path: string, body = "*") => ({ pattern: { case: "post", value: path }, body }) as const;

const patch = (path: string, body: string) => ({ pattern: { case: "patch", value: path }, body }) as const;

const rpcs: readonly SampleRpc[] = [
  { name: "Query", rule: get("/query") },
  { name: "One", rule: get("/one/{name}") },
  { name: "Deep", rule: get("/deep/{inner.id}/{inner.big_one}") },
  { name: "Count", rule: get("/count/{item_count}/{on}/{kind}") },
  { name: "At", rule: get("/at/{at}") },
  { name: "Multi", rule: get("/multi/{left=shelves/*}") },
  { name: "Rest", rule: get("/rest/{left=**}") },
  { name: "Whole", rule: { ...post("/whole/{name}"), additionalBindings: [post("/whole/{name}/{inner.id}:again")] } },
  { name: "Enum", rule: post("/enum/{kind}/{item_count}") },
  { name: "Part", rule: post("/part/{name}", "inner") },
  { name: "Many", rule: post("/many", "inners") },
  { name: "Text", rule: post("/text", "left") },
  { name: "Shown", rule: { ...get("/shown/{inner.id}"), responseBody: "inner" } },
  { name: "Listed", rule: { ...get("/listed"), responseBody: "tags" } },
  { name: "Custom", rule: { pattern: { case: "custom", value: { kind: "REPORT", path: "/custom/{name}" } } } },
  { name: "Delete", rule: { pattern: { case: "delete", value: "/one/{name}" } } },
  { name: "Patch", rule: patch("/one/{name}", "*") },
  { name: "PatchPart", rule: patch("/part/{name}", "inner") },
  { name: "PatchMany", rule: patch("/many", "inners") },
];

let server: SampleServer;
beforeAll(async () => {
  server = await openSample({}, { rpcs });
});
afterAll(() => server[Symbol.asyncDispose]());

type Row = { ask: string; body?: unknown; want?: unknown; wrong?: readonly string[]; reason?: string };

const rows: readonly Row[] = [
  { ask: "GET /one/ada", want: { name: "ada" } },
  { ask: "GET /one/a%2Fb", want: { name: "a/b" } },
  { ask: "GET /one/a%3Ab", want: { name: "a:b" } },
  { ask: "GET /one/a+b", want: { name: "a+b" } },
  { ask: "GET /one/%C3%BC", want: { name: "ü" } },
  { ask: "GET /one/%20a%20", want: { name: " a " } },
  { ask: "GET /one/%C3", reason: "MALFORMED_REQUEST" },
  { ask: "GET /one/a%", reason: "MALFORMED_REQUEST" },
  { ask: "GET /one/ada?name=ada", wrong: ["name UNKNOWN_FIELD"] },
  { ask: "GET /deep/x/77", want: { inner: { id: "x", bigOne: "77" } } },
  { ask: "GET /deep/x/y", wrong: ["inner.bigOne WRONG_TYPE"] },
  { ask: "GET /deep/x/7?inner.id=x", wrong: ["inner.id UNKNOWN_FIELD"] },
  { ask: "GET /count/-7/true/KIND_ROUND", want: { itemCount: -7, on: true, kind: "KIND_ROUND" } },
  { ask: "GET /count/7/false/1", want: { itemCount: 7, kind: "KIND_ROUND" } },
  {
    ask: "GET /count/2147483648/yes/KIND_FLAT",
    wrong: ["itemCount OUT_OF_RANGE", "on WRONG_TYPE", "kind ENUM_DEFINED_ONLY"],
  },
  { ask: "GET /count/1/true/9", want: { itemCount: 1, on: true, kind: 9 } },
  { ask: "GET /at/2030-01-31T12:00:00Z", want: { at: "2030-01-31T12:00:00Z" } },
  { ask: "GET /at/2030-01-31T12%3A00%3A00Z", want: { at: "2030-01-31T12:00:00Z" } },
  { ask: "GET /multi/shelves/7", want: { left: "shelves/7" } },
  { ask: "GET /multi/shelves/7%2F8%20", want: { left: "shelves/7%2F8 " } },
  { ask: "GET /multi/other/7", reason: "UNKNOWN_PATH" },
  { ask: "GET /rest/a/b/c", want: { left: "a/b/c" } },
  { ask: "GET /rest", want: { left: "" } },
  { ask: "GET /query?name=ada&itemCount=5&on=true", want: { name: "ada", itemCount: 5, on: true } },
  { ask: "GET /query?item_count=5&name=a+b%2B", want: { itemCount: 5, name: "a b+" } },
  { ask: "GET /query?tags=x&tags=y", want: { tags: ["x", "y"] } },
  { ask: "GET /query?kinds=KIND_ROUND&kinds=0", want: { kinds: ["KIND_ROUND", "KIND_NONE"] } },
  { ask: "GET /query?inner.id=x&inner.big_one=9", want: { inner: { id: "x", bigOne: "9" } } },
  { ask: "GET /query?flag=false", want: { flag: false } },
  { ask: "GET /query?wait=1.5s&at=2030-01-31T12:00:00.5Z", want: { wait: "1.500s", at: "2030-01-31T12:00:00.500Z" } },
  { ask: "GET /query?whole=18446744073709551615&ratio=1.5", want: { whole: "18446744073709551615", ratio: 1.5 } },
  { ask: "GET /query?data=aGk=", want: { data: "aGk=" } },
  { ask: "GET /query?", want: {} },
  { ask: "GET /query?&name=a&", want: { name: "a" } },
  { ask: "GET /query?name", want: {} },
  {
    ask: "GET /query?nope=1&inner.nope=2&inner=3&inners.id=4&labels.a=5&name.x=6&=7&__proto__=8",
    wrong: ["nope", "inner.nope", "inner", "inners.id", "labels.a", "name.x", "", "__proto__"].map(
      (name) => `${name} UNKNOWN_FIELD`,
    ),
  },
  { ask: "GET /query?name=a&name=b", wrong: ["name REPEATED_FIELD"] },
  { ask: "GET /query?item_count=1&itemCount=2", wrong: ["itemCount REPEATED_FIELD"] },
  {
    ask: "GET /query?itemCount=&kinds=KIND_ROUND&kinds=x",
    wrong: ["itemCount WRONG_TYPE", "kinds[1] ENUM_DEFINED_ONLY"],
  },
  { ask: "GET /query?wait=5&at=2030-02-30T00:00:00Z", wrong: ["wait WRONG_TYPE", "at WRONG_TYPE"] },
  { ask: "GET /query?left=a&right=b", wrong: ["right REPEATED_FIELD"] },
  { ask: "GET /query?name=%ZZ", reason: "MALFORMED_REQUEST" },
  { ask: "GET /query?name=%FF", reason: "MALFORMED_REQUEST" },
  { ask: "GET /query", body: "{}", reason: "MALFORMED_BODY" },
  { ask: "POST /whole/ada", want: { name: "ada" } },
  { ask: "POST /whole/ada", body: { itemCount: 1 }, want: { name: "ada", itemCount: 1 } },
  { ask: "POST /whole/ada", body: { name: "ada" }, want: { name: "ada" } },
  { ask: "POST /whole/ada", body: { name: null }, want: { name: "ada" } },
  { ask: "POST /whole/ada", body: { name: "bob" }, wrong: ["name PATH_DIFFERS"] },
  { ask: "POST /whole/ada", body: { name: ["ada"] }, wrong: ["name PATH_DIFFERS", "name WRONG_TYPE"] },
  { ask: "POST /whole/ada?itemCount=1", body: {}, wrong: ["itemCount UNKNOWN_FIELD"] },
  {
    ask: "POST /whole/ada/x:again",
    body: { inner: { bigOne: 1 } },
    want: { name: "ada", inner: { id: "x", bigOne: "1" } },
  },
  { ask: "POST /whole/ada/x:again", body: { inner: { id: "y" } }, wrong: ["inner.id PATH_DIFFERS"] },
  { ask: "POST /whole/ada/x:again", body: { inner: 5 }, wrong: ["inner WRONG_TYPE"] },
  { ask: "POST /whole/ada", body: "null", reason: "MALFORMED_BODY" },
  { ask: "POST /whole/ada", body: "[]", reason: "MALFORMED_BODY" },
  { ask: "POST /enum/KIND_ROUND/7", body: { kind: 1, item_count: 7 }, want: { kind: "KIND_ROUND", itemCount: 7 } },
  { ask: "POST /enum/1/7", body: { kind: "KIND_ROUND", itemCount: "7" }, want: { kind: "KIND_ROUND", itemCount: 7 } },
  {
    ask: "POST /enum/1/7",
    body: { kind: "KIND_NONE", item_count: 8, itemCount: 7 },
    wrong: ["kind PATH_DIFFERS", "itemCount PATH_DIFFERS", "itemCount REPEATED_FIELD"],
  },
  {
    ask: "POST /part/ada?itemCount=3",
    body: { id: "x" },
    want: { name: "ada", itemCount: 3, inner: { id: "x", bigOne: "0" } },
  },
  { ask: "POST /part/ada", want: { name: "ada" } },
  { ask: "POST /part/ada?inner.id=y", body: { id: "x" }, wrong: ["inner.id UNKNOWN_FIELD"] },
  { ask: "POST /part/ada", body: { nope: 1 }, wrong: ["inner.nope UNKNOWN_FIELD"] },
  { ask: "POST /part/ada", body: '{"id":"x","id":"y"}', wrong: ["inner.id REPEATED_FIELD"] },
  { ask: "POST /many", body: [{ id: "x" }], want: { inners: [{ id: "x", bigOne: "0" }] } },
  { ask: "POST /many", body: [{ nope: 1 }], wrong: ["inners[0].nope UNKNOWN_FIELD"] },
  { ask: "POST /many", body: '[{"id":"a","id":"b"}]', wrong: ["inners[0].id REPEATED_FIELD"] },
  { ask: "POST /many", body: { id: "x" }, wrong: ["inners WRONG_TYPE"] },
  { ask: "POST /text", body: '"hello"', want: { left: "hello" } },
  { ask: "REPORT /custom/ada", want: { name: "ada" } },
  { ask: "DELETE /one/ada", want: { name: "ada" } },
  { ask: "PATCH /one/ada", body: { on: true }, want: { name: "ada", on: true } },
  {
    ask: "PATCH /part/ada",
    body: { id: "x" },
    want: { name: "ada", inner: { id: "x", bigOne: "0" }, updateMask: "id" },
  },
  {
    ask: "PATCH /part/ada?on=true",
    body: { big_one: null, id: "" },
    want: { name: "ada", on: true, inner: { id: "", bigOne: "0" }, updateMask: "bigOne,id" },
  },
  {
    ask: "PATCH /part/ada?updateMask=bigOne",
    body: { id: "x" },
    want: { name: "ada", inner: { id: "x", bigOne: "0" }, updateMask: "bigOne" },
  },
  {
    ask: "PATCH /part/ada?update_mask=",
    body: { id: "x" },
    want: { name: "ada", inner: { id: "x", bigOne: "0" }, updateMask: "id" },
  },
  { ask: "PATCH /part/ada", body: {}, want: { name: "ada", inner: { id: "", bigOne: "0" } } },
  { ask: "PATCH /part/ada", want: { name: "ada" } },
  { ask: "PATCH /part/ada", body: { nope: 1, id: 5 }, wrong: ["inner.nope UNKNOWN_FIELD", "inner.id WRONG_TYPE"] },
  { ask: "PATCH /part/ada?updateMask=big_one", body: {}, wrong: ["updateMask WRONG_TYPE"] },
  { ask: "PATCH /many", body: [{ id: "x" }], want: { inners: [{ id: "x", bigOne: "0" }] } },
];

for (const { ask: line, body, want, wrong, reason } of rows) {
  const given = body === undefined ? "" : ` with ${typeof body === "string" ? body : JSON.stringify(body)}`;
  test(`${line}${given}: ${wrong?.join(", ") ?? reason ?? "is bound"}`, async () => {
    const answer = await callRest(server, line, body);
    if (wrong) expect([answer.status, wrongFields(answer)]).toEqual([400, wrong]);
    else if (reason) expect(reasonOf(answer)).toBe(reason);
    else expect([answer.status, filled(answer)]).toEqual([200, want && filledIn(want)]);
  });
}

const filledIn = (want: unknown) => filled({ json: want as Record<string, unknown> });

test("a response_body answers that field alone", async () => {
  expect((await callRest(server, "GET /shown/x")).json).toEqual({ id: "x", bigOne: "0" });
  expect((await callRest(server, "GET /listed?tags=a&tags=b")).json).toEqual(["a", "b"]);
  expect((await callRest(server, "GET /listed")).json).toEqual([]);
});

test("there is no way to override the method by a header", async () => {
  const answer = await callRest(server, "GET /one/ada", undefined, { "x-http-method-override": "DELETE" });
  expect(answer.status).toBe(200);
  expect((await callRest(server, "POST /one/ada", {}, { "x-http-method-override": "PATCH" })).status).toBe(405);
});
