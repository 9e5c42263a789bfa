import { Agent, get } from "node:http";
import { connect } from "node:http2";
import { connect as dialHalfOpen } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { frame } from "../../../../test/wire/frame.ts";
import { requestHttp2 } from "../../../../test/wire/http2.ts";
import { portSource } from "../../src/http/source.ts";
import { openSample, type SampleHandler } from "../sample_gateway.ts";

const slow: SampleHandler = async (request) => {
  await pause(200);
  return request;
};

/** A handler that reports when its first call has begun. */
function announced(handler: SampleHandler) {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const announcing: SampleHandler = (request, call) => {
    resolve();
    return handler(request, call);
  };
  return { handler: announcing, begun };
}

const path = "/sample.Samples/Do";
const doors = [
  ["REST", { ":path": "/one/a" }, undefined],
  ["plain JSON", { ":path": path, "content-type": "application/json" }, "{}"],
  ["gRPC", { ":path": path, "content-type": "application/grpc" }, frame("")],
  ["gRPC-Web", { ":path": path, "content-type": "application/grpc-web+proto" }, frame("")],
  ["Connect", { ":path": path, "content-type": "application/proto" }, ""],
] as const;

test.each(doors)("%s: calls that run over HTTP/2 when the server stops get their answers", async (_, headers, body) => {
  const begun = Promise.withResolvers<void>();
  let count = 0;
  const handler: SampleHandler = (request, call) => {
    count += 1;
    if (count === 20) begun.resolve();
    return slow(request, call);
  };
  const port = await openSample({ shutdownGraceMs: 60_000 }, { handler });
  const calls = Array.from({ length: 20 }, () => requestHttp2(port.url, headers, body));
  await begun.promise;
  await port[Symbol.asyncDispose]();
  for (const { status, headers } of await Promise.all(calls))
    expect([status, headers["grpc-status"] ?? "0"]).toEqual([200, "0"]);
});

test("no call is lost while a server stops under load: answered, or never begun", async () => {
  let begun = 0;
  const handler: SampleHandler = (request, call) => {
    begun += 1;
    return slow(request, call);
  };
  const port = await openSample({}, { handler });
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  let [answered, going] = [0, true];
  const one = () =>
    new Promise<void>((resolve) => {
      get(`${port.url}/one/a`, { agent }, (answer) => {
        answer.resume().on("end", () => {
          answered += 1;
          resolve();
        });
      }).on("error", () => resolve());
    });
  const callers = Array.from({ length: 20 }, async () => {
    while (going) await one();
  });
  await pause(500);
  const stopped = port[Symbol.asyncDispose]();
  await pause(50);
  going = false;
  await Promise.all([stopped, ...callers]);
  agent.destroy();
  expect(answered).toBe(begun);
});

test("a session is told to go away, and begins nothing new", async () => {
  const { handler, begun } = announced(slow);
  const port = await openSample({}, { handler });
  const session = connect(port.url);
  const running = session.request({ ":path": "/one/a" });
  await begun;
  const away = new Promise((resolve) => session.once("goaway", resolve));
  const stopped = port[Symbol.asyncDispose]();
  expect(await away).toBe(0);
  let text = "";
  for await (const part of running) text += part;
  expect(text).toContain('"name":"a"');
  await stopped;
});

test("an idle session does not hold the server up", async () => {
  const port = await openSample({ shutdownGraceMs: 60_000 });
  const session = connect(port.url);
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  await port[Symbol.asyncDispose]();
  session.destroy();
});

test("a call over HTTP/2 that does not end is cut off after the grace", async () => {
  const { handler, begun } = announced(() => new Promise(() => {}));
  const port = await openSample({ shutdownGraceMs: 200 }, { handler });
  const call = requestHttp2(port.url, { ":path": "/one/a" }).catch(() => "cut");
  await begun;
  await port[Symbol.asyncDispose]();
  await call;
});

test("a client that never hangs up is cut off after the grace", async () => {
  const port = await openSample({ shutdownGraceMs: 400 });
  const socket = dialHalfOpen({ port: Number(new URL(port.url).port), host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {}).write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
  await new Promise((resolve) => socket.once("data", resolve));
  await port[Symbol.asyncDispose]();
  socket.destroy();
});

test("during the delay /readyz is 503, calls are taken, and connections are sent away without a failed call", async () => {
  const port = await openSample({ shutdownDelayMs: 5000 });
  const [agent, session] = [new Agent({ keepAlive: true, maxSockets: 1 }), connect(port.url)];
  const over = (path: string) =>
    new Promise<string | undefined>((resolve, reject) => {
      get(port.url + path, { agent }, (answer) =>
        answer.resume().on("end", () => resolve(answer.headers.connection)),
      ).on("error", reject);
    });
  expect(await over("/one/a")).toBe("keep-alive");
  const away = new Promise((resolve) => session.once("goaway", resolve));
  for await (const _part of session.request({ ":path": "/one/a" }));
  const stopped = port[Symbol.asyncDispose]();
  expect(await over("/one/a")).toBe("close");
  expect(await away).toBe(0);
  expect((await fetch(`${port.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${port.url}/one/b`)).status).toBe(200);
  await stopped;
  await expect(fetch(`${port.url}/one/a`)).rejects.toThrow();
  agent.destroy();
});

test("a response that is sent while the port closes says that its connection closes, also without a delay", async () => {
  const called = Promise.withResolvers<void>();
  const closing = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const own = portSource("127.0.0.1", 0);
  const source = {
    ...own,
    async close() {
      closing.resolve();
      await answered.promise;
      await own.close();
    },
  };
  let calls = 0;
  const handler: SampleHandler = async (request) => {
    if (++calls === 1) return request;
    called.resolve();
    await closing.promise;
    return request;
  };
  const port = await openSample({}, { source, handler });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = () =>
    new Promise<string | undefined>((resolve, reject) => {
      get(`${port.url}/one/a`, { agent }, (answer) =>
        answer.resume().on("end", () => resolve(answer.headers.connection)),
      ).on("error", reject);
    });
  expect(await ask()).toBe("keep-alive");
  const second = ask();
  await called.promise;
  const stopped = port[Symbol.asyncDispose]();
  expect(await second).toBe("close");
  answered.resolve();
  await stopped;
  agent.destroy();
});

test("calls on new connections and on kept ones are answered until the port refuses them; none is cut off", async () => {
  const port = await openSample({ shutdownDelayMs: 400 });
  const ask = (agent: Agent) =>
    new Promise<void>((resolve, reject) => {
      get(`${port.url}/one/a`, { agent }, (answer) => answer.resume().on("end", resolve).on("error", reject)).on(
        "error",
        reject,
      );
    });
  const untilRefused = async (keepAlive: boolean): Promise<unknown> => {
    const agent = new Agent({ keepAlive, maxSockets: 1 });
    try {
      for (;;) await ask(agent);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    } finally {
      agent.destroy();
    }
  };
  const callers = [true, true, true, false, false, false].map(untilRefused);
  await port[Symbol.asyncDispose]();
  expect(new Set(await Promise.all(callers))).toEqual(new Set(["ECONNREFUSED"]));
});
