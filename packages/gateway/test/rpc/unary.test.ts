import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { readError, readProblem, refusalOf } from "../../../../test/wire/refusal.ts";
import { transports } from "../../../../test/wire/transports.ts";
import { callRest } from "../rest/rest_call.ts";
import { refuseSample } from "../sample_gateway.ts";
import { binary, call, openUnary, path, post, statusIn } from "./sample_call.ts";

const filled = {
  name: "añ😀",
  itemCount: -7,
  on: true,
  tags: ["a", "b"],
  kind: 1,
  inner: { id: 'ÿ\n"', bigOne: -(2n ** 63n) },
  data: new Uint8Array([0, 255]),
  ratio: 0.1,
  labels: { "": "empty", ключ: "значение" },
  whole: 2n ** 64n - 1n,
};

describe.each(transports)("$name", (transport) => {
  test("an answer holds what was sent", async () => {
    await using server = await openUnary();
    let id: string | null = null;
    const onHeader = (headers: Headers) => {
      id = headers.get("x-request-id");
    };
    expect(await call(server, transport, filled, { onHeader })).toMatchObject(filled);
    expect(id).toMatch(/^[0-9a-z]{24}$/);
  });

  test("an empty message is answered", async () => {
    await using server = await openUnary();
    expect(await call(server, transport, {})).toMatchObject({ name: "", tags: [] });
  });

  test("broken rules are refused as over REST", async () => {
    await using server = await openUnary();
    const wrong = { name: "too long", tags: ["a", "a"] };
    const error = await refusalOf(call(server, transport, wrong));
    expect(readError(error)).toEqual(readProblem((await callRest(server, "POST /do", wrong)).json));
    expect(readError(error).violations).toHaveLength(2);
    expect(error.metadata.get("x-request-id")).toMatch(/^[0-9a-z]{24}$/);
  });

  test.each([
    [Code.Unauthenticated, "UNAUTHENTICATED", {}],
    [Code.NotFound, "USER_NOT_FOUND", { params: { id: "42" } }],
    [Code.ResourceExhausted, "OVERLOADED", { retrySeconds: 3 }],
    [Code.Aborted, "CONFLICT", {}],
  ] as const)("a refusal with code %i for the reason %s is the same as over REST", async (code, reason, details) => {
    await using server = await openUnary({ handler: () => Promise.reject(refuseSample(code, reason, details)) });
    const overRest = await callRest(server, "POST /do", {});
    expect(readError(await refusalOf(call(server, transport, {})))).toEqual(readProblem(overRest.json));
  });

  test("an unexpected error says nothing of itself", async () => {
    await using server = await openUnary({ handler: () => Promise.reject(new Error("the secret")) });
    const error = await refusalOf(call(server, transport, {}));
    expect(readError(error)).toEqual(readProblem((await callRest(server, "POST /do", {})).json));
    expect(JSON.stringify([error, ...error.metadata])).not.toMatch(/secret/);
  });

  test("a large answer arrives whole", async () => {
    await using server = await openUnary();
    const data = new Uint8Array(70_000).map((_, index) => index % 251);
    const answer = await call(server, transport, { data });
    expect(Buffer.compare(answer.data as Uint8Array, data)).toBe(0);
  });

  test("many calls at once each get their own answer", async () => {
    await using server = await openUnary();
    const counts = Array.from({ length: 100 }, (_, index) => index);
    const answers = await Promise.all(counts.map((itemCount) => call(server, transport, { itemCount })));
    expect(answers.map(({ itemCount }) => itemCount)).toEqual(counts);
  });

  test("headers asked for by the server go with every answer", async () => {
    await using server = await openUnary({ corsOrigins: ["https://a.example"] });
    const seen: (string | null)[] = [];
    const onHeader = (headers: Headers) => seen.push(headers.get("access-control-allow-origin"));
    const headers = { origin: "https://a.example" };
    await call(server, transport, {}, { headers, onHeader });
    const error = await refusalOf(call(server, transport, { name: "too long" }, { headers }));
    expect([...seen, error.metadata.get("access-control-allow-origin")]).toEqual(Array(2).fill("https://a.example"));
  });
});

test("Connect says over HTTP what to do about a refusal", async () => {
  const challenge = { "www-authenticate": 'Bearer realm="sample"' };
  await using unknown = await openUnary({
    handler: () => Promise.reject(refuseSample(Code.Unauthenticated, "TOKEN_INVALID", { metadata: challenge })),
  });
  const headers = { "content-type": "application/proto" };
  const answer = await post(unknown, new Uint8Array(), headers);
  expect(answer.headers).toMatchObject({ ":status": "401", ...challenge });
  await using busy = await openUnary({
    handler: () => Promise.reject(refuseSample(Code.ResourceExhausted, "OVERLOADED", { retrySeconds: 2.5 })),
  });
  const later = await post(busy, new Uint8Array(), headers);
  expect(later.headers).toMatchObject({ ":status": "429", "retry-after": "3", "cache-control": "no-store" });
});

test("what cannot be a unary call is refused in the words of its protocol", async () => {
  await using server = await openUnary();
  const grpc = { "content-type": "application/grpc" };
  const streamed = await post(server, new Uint8Array(), { "content-type": "application/connect+proto" });
  expect([streamed.status, String(streamed.body)]).toEqual([200, expect.stringContaining('"unimplemented"')]);
  const nothing = await post(server, new Uint8Array(), { ":path": "/sample.Samples/Nothing", ...grpc });
  expect([nothing.status, statusIn(nothing)]).toEqual([200, "Unimplemented UNIMPLEMENTED"]);
  const put = await post(server, new Uint8Array(), { ":method": "PUT", ...grpc });
  expect(statusIn(put)).toBe("Unimplemented METHOD_NOT_ALLOWED");
  const old = await fetch(`${server.url}${path}`, { method: "POST", headers: grpc });
  expect(old.status).toBe(505);
});

test("plain JSON is answered without any header of a protocol", async () => {
  await using server = await openUnary();
  const json = { "content-type": "application/json" };
  expect((await post(server, Buffer.from('{"name":"ada"}'), json)).status).toBe(200);
  expect((await post(server, new Uint8Array(), {})).status).toBe(200);
  expect((await post(server, new Uint8Array(), { "content-type": "text/plain" })).status).toBe(415);
});

test("bytes of the binary format that a newer client sends are ignored", async () => {
  await using server = await openUnary();
  const newer = Buffer.concat([binary(server, { name: "ada" }), Buffer.from([0xd2, 0x0f, 1, 65])]);
  const answer = await post(server, newer, { "content-type": "application/proto" });
  expect(Buffer.compare(answer.body, binary(server, { name: "ada" }))).toBe(0);
});
