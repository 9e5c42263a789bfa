import { describe, expect, test } from "vitest";
import { refuse } from "../../src/errors.ts";
import { readError, readProblem, refusalOf } from "../wire/refusal.ts";
import { transports } from "../wire/transports.ts";
import { binary, call, post } from "./lane_call.ts";
import { openLane } from "./lane_sample.ts";

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
    await using lane = await openLane();
    let id: string | null = null;
    const onHeader = (headers: Headers) => {
      id = headers.get("x-request-id");
    };
    expect(await call(lane, transport, filled, { onHeader })).toMatchObject(filled);
    expect(id).toMatch(/^[0-9a-z]{24}$/);
  });

  test("an empty message is answered", async () => {
    await using lane = await openLane();
    expect(await call(lane, transport, {})).toMatchObject({ name: "", tags: [] });
  });

  test("broken rules are refused as over REST, in the language asked for", async () => {
    await using lane = await openLane();
    const wrong = { name: "too long", tags: ["a", "a"] };
    const headers = { "accept-language": "de" };
    const error = await refusalOf(call(lane, transport, wrong, { headers }));
    expect(readError(error)).toEqual(readProblem((await lane.rest(wrong, headers)).json));
    expect(readError(error).localized).toMatch(/Anfrage/);
    expect(error.metadata.get("x-request-id")).toMatch(/^[0-9a-z]{24}$/);
  });

  test.each([
    ["UNAUTHENTICATED", {}],
    ["USER_NOT_FOUND", { params: { id: "42" } }],
    ["OVERLOADED", { retrySeconds: 3 }],
    ["CONFLICT", {}],
  ] as const)("the refusal %s is the same as over REST", async (reason, refusal) => {
    await using lane = await openLane({ handler: () => Promise.reject(refuse.because(reason, refusal)) });
    expect(readError(await refusalOf(call(lane, transport, {})))).toEqual(readProblem((await lane.rest({})).json));
  });

  test("an unexpected error says nothing of itself", async () => {
    await using lane = await openLane({ handler: () => Promise.reject(new Error("the secret")) });
    const error = await refusalOf(call(lane, transport, {}));
    expect(readError(error)).toEqual(readProblem((await lane.rest({})).json));
    expect(JSON.stringify([error, ...error.metadata])).not.toMatch(/secret/);
  });

  test("a large answer arrives whole", async () => {
    await using lane = await openLane();
    const data = new Uint8Array(70_000).map((_, index) => index % 251);
    const answer = await call(lane, transport, { data });
    expect(Buffer.compare(answer.data as Uint8Array, data)).toBe(0);
  });

  test("many calls at once each get their own answer", async () => {
    await using lane = await openLane();
    const counts = Array.from({ length: 100 }, (_, index) => index);
    const answers = await Promise.all(counts.map((itemCount) => call(lane, transport, { itemCount })));
    expect(answers.map(({ itemCount }) => itemCount)).toEqual(counts);
  });

  test("headers asked for by the server go with every answer", async () => {
    await using lane = await openLane({ also: ({ origin }) => ({ "access-control-allow-origin": String(origin) }) });
    const seen: (string | null)[] = [];
    const onHeader = (headers: Headers) => seen.push(headers.get("access-control-allow-origin"));
    const headers = { origin: "https://a.example" };
    await call(lane, transport, {}, { headers, onHeader });
    const error = await refusalOf(call(lane, transport, { name: "too long" }, { headers }));
    expect([...seen, error.metadata.get("access-control-allow-origin")]).toEqual(Array(2).fill("https://a.example"));
  });
});

test("Connect says over HTTP what to do about a refusal", async () => {
  await using unknown = await openLane({ handler: () => Promise.reject(refuse.because("TOKEN_INVALID")) });
  const headers = { "content-type": "application/proto" };
  const answer = await post(unknown, new Uint8Array(), headers);
  expect(answer.headers).toMatchObject({ ":status": "401", "www-authenticate": 'Bearer realm="postern"' });
  await using busy = await openLane({
    handler: () => Promise.reject(refuse.because("OVERLOADED", { retrySeconds: 2.5 })),
  });
  const later = await post(busy, new Uint8Array(), headers);
  expect(later.headers).toMatchObject({ ":status": "429", "retry-after": "3", "cache-control": "no-store" });
});

test("what is not a unary call is left to others", async () => {
  await using lane = await openLane();
  const left = [
    { "content-type": "application/connect+proto" },
    { ":path": "/sample.Samples/Watch", "content-type": "application/grpc" },
    { ":path": "/sample.Samples/Nothing", "content-type": "application/grpc" },
    { ":method": "PUT", "content-type": "application/grpc" },
  ];
  for (const headers of left) expect((await post(lane, new Uint8Array(), headers)).status).toBe(404);
  const grpc = await fetch(`${lane.http1}/sample.Samples/Do`, {
    method: "POST",
    headers: { "content-type": "application/grpc" },
  });
  expect(grpc.status).toBe(404);
});

test("plain JSON takes the lane, also where the protocols do not", async () => {
  await using lane = await openLane({ protocols: false });
  const json = { "content-type": "application/json" };
  expect((await post(lane, Buffer.from('{"name":"ada"}'), json)).status).toBe(200);
  expect((await post(lane, new Uint8Array(), {})).status).toBe(200);
  expect((await post(lane, new Uint8Array(), { "content-type": "text/plain" })).status).toBe(415);
  expect((await post(lane, new Uint8Array(), { "content-type": "application/proto" })).status).toBe(404);
});

test("bytes of the binary format that a newer client sends are ignored", async () => {
  await using lane = await openLane();
  const newer = Buffer.concat([binary(lane, { name: "ada" }), Buffer.from([0xd2, 0x0f, 1, 65])]);
  const answer = await post(lane, newer, { "content-type": "application/proto" });
  expect(Buffer.compare(answer.body, binary(lane, { name: "ada" }))).toBe(0);
});
