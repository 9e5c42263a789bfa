import { Writable } from "node:stream";
import { createContextValues } from "@connectrpc/connect";
import { gateway } from "@postern/gateway";
import pino from "pino";
import { expect, test } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { keys } from "../../src/deps.ts";
import { inOurWords, refuse } from "../../src/errors.ts";
import { report } from "../../src/guards/report.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";

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
  const { interceptor, atGate, onError } = report({ logger, languageOf: chooseLanguage, observe });
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
