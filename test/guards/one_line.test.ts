import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { createContextValues } from "@connectrpc/connect";
import { gateway } from "@postern/gateway";
import pino from "pino";
import { expect, test } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { keys } from "../../src/deps.ts";
import { inOurWords, refuse } from "../../src/errors.ts";
import { report } from "../../src/guards/report.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";
import { isStatementTimeout, isUnavailable } from "../../src/postgres/failure.ts";

/** A gateway with one service, its lines in the log, and what was counted of its calls. */
async function served(getMe: () => object, gate: () => void = () => {}) {
  const lines: { code: string; reason?: string; level: number }[] = [];
  const counted: string[] = [];
  const write = (chunk: Buffer, _encoding: string, next: () => void) => {
    lines.push(JSON.parse(chunk.toString()));
    next();
  };
  const logger = pino({ base: null }, new Writable({ write }));
  const observe = () => (code: string) => void counted.push(code);
  const { interceptor, atGate, onError } = report({
    logger,
    languageOf: chooseLanguage,
    outages: { isUnavailable, isStatementTimeout },
    observe,
  });
  const server = await gateway({
    routes: (router) => router.service(AccountService, { getMe }),
    interceptors: [interceptor],
    requestGate: atGate(gate),
    onError,
    refuse: inOurWords,
    contextValues: () => createContextValues().set(keys.requestId, "r1"),
  }).listen();
  return { lines, counted, url: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

async function getMe(url: string) {
  const response = await fetch(`${url}/v1/users/me`);
  return { status: response.status, body: (await response.json()) as { details: { reason: string }[] } };
}

test("what the gate refuses has one line and is counted once", async () => {
  await using server = await served(
    () => ({}),
    () => {
      throw refuse.because("UNAUTHENTICATED");
    },
  );
  expect((await getMe(server.url)).body.details[0]?.reason).toBe("UNAUTHENTICATED");
  expect(server.lines).toMatchObject([{ code: "UNAUTHENTICATED", reason: "UNAUTHENTICATED" }]);
  expect(server.counted).toEqual(["UNAUTHENTICATED"]);
});

test("what the gate throws that is no refusal is INTERNAL, in one line", async () => {
  await using server = await served(
    () => ({}),
    () => {
      throw new TypeError("a bug");
    },
  );
  expect((await getMe(server.url)).body.details[0]?.reason).toBe("INTERNAL");
  expect(server.lines).toMatchObject([{ code: "INTERNAL", level: 50 }]);
  expect(server.counted).toEqual(["INTERNAL"]);
});

test("a call that ends well but cannot be written is counted once, and the bug has a line of its own", async () => {
  await using server = await served(() => ({ user: { id: 5 } }));
  const { status, body } = await getMe(server.url);
  expect([status, body.details[0]?.reason]).toEqual([500, "INTERNAL"]);
  expect(server.lines.map(({ code }) => code)).toEqual(["OK", "INTERNAL"]);
  expect(server.counted).toEqual(["OK"]);
});

/** Sends one request of HTTP/2 with these pseudo-headers and headers; waits until it has ended, however it does. */
async function overHttp2(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const session = connect(url);
  const stream = session.request(headers);
  stream.on("error", () => {});
  stream.end();
  stream.resume();
  await once(stream, "close");
  session.destroy();
}

/** Sends one request of HTTP/1.1 with these headers. */
async function overHttp1(url: string, path: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const sent = request(`${url}${path}`, { method: "POST", headers, agent: false });
  sent.end("{}");
  const [response] = await once(sent, "response");
  await text(response);
}

test("no line of an unknown caller has more than a kilobyte, whatever is sent", async () => {
  await using server = await served(() => ({}));
  const long = (character: string) => character.repeat(3_600);
  const json = { "content-type": "application/json" };
  const attacks = {
    "a path that is no rpc": () =>
      overHttp2(server.url, { ":method": "POST", ":path": `/${long('"')}`, "content-type": "application/grpc" }),
    "a path that is no route": () => overHttp1(server.url, `/${long("x")}`, json),
    "a method that is none": () => overHttp2(server.url, { ":method": long("M"), ":path": "/v1/users/me" }),
    "a time-out of Connect": () =>
      overHttp1(server.url, "/postern.v1.AccountService/GetMe", { ...json, "connect-timeout-ms": long("1") }),
    "a time-out of gRPC": () =>
      overHttp2(server.url, {
        ...{ ":method": "POST", ":path": "/postern.v1.AccountService/GetMe" },
        ...{ "content-type": "application/grpc", te: "trailers", "grpc-timeout": long("9") },
      }),
    "a content type": () => overHttp1(server.url, "/v1/users/me", { "content-type": `application/${long("j")}` }),
    "an id of a request": () => overHttp1(server.url, "/v1/users/me", { ...json, "x-request-id": long("i") }),
  };
  for (const [what, attack] of Object.entries(attacks)) {
    server.lines.length = 0;
    await attack();
    for (const line of server.lines) expect(JSON.stringify(line).length, what).toBeLessThanOrEqual(1024);
  }
});
