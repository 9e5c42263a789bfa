import { once } from "node:events";
import { copyFile } from "node:fs/promises";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { ask, until } from "../postgres/embedded/holder.ts";
import { type Serving, serve } from "../postgres/serving.ts";
import { postern } from "../program/command.ts";
import { certificateFor, nameShown } from "../wire/certificate.ts";
import type { HttpRequest, HttpResponse } from "../wire/http.ts";
import { connectHttp1 } from "../wire/http1.ts";
import { connectHttp2 } from "../wire/http2.ts";
import { ipv4, proxyHeader } from "../wire/proxy.ts";
import { sendBytes } from "../wire/tcp.ts";
import { askOnce, untilRefused } from "./connections.ts";
import { isRunning, workersOf } from "./processes.ts";

/** A node of two workers. */
async function startNode(settings: Record<string, string> = {}): Promise<Serving> {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await freshDatabase());
  const serving = opened.use(await serve(url, { WORKERS: "2", ...settings }));
  await until(async () => (await workersOf(serving.child)).size === 2);
  const stack = opened.move();
  return { ...serving, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A sample of `/metrics`. */
async function sample(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

const getMe = `postern_calls_total{operation="/postern.v1.AccountService/GetMe",door="json",code="OK"}`;

const meOf = (token = "") => ({
  ...{ method: "GET", path: "/v1/users/me", body: Buffer.alloc(0) },
  headers: { authorization: `Bearer ${token}` },
});

/** Calls GetMe on so many connections of their own. */
async function callOnEach({ url, admin }: Serving, connections: number): Promise<void> {
  const opened = Array.from({ length: connections }, () => connectHttp1(url));
  const answers = await Promise.all(opened.map(({ send }) => send(meOf(admin.token))));
  for (const one of opened) one[Symbol.dispose]();
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
}

describe("a node of two workers", () => {
  let node: Serving;
  beforeAll(async () => {
    node = await startNode({
      ...{ OPERATIONS_PORT: "0", TRUSTED_PROXIES: "127.0.0.1" },
      // A third sign-in is for half a minute refused: long enough for a slow machine.
      SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "2",
    });
  });
  afterAll(() => node?.[Symbol.asyncDispose]());

  test("has one line of start, says how many serve, and is one to those who look at it", async () => {
    const starts = node.lines.filter(({ msg }) => msg === "listening");
    expect(starts).toMatchObject([{ url: node.url, operationsUrl: expect.any(String), workers: 2 }]);
    expect(await (await fetch(`${node.url}/readyz`)).json()).toEqual({ status: "ok", workers: { serving: 2, of: 2 } });
    expect((await fetch(`${starts[0]?.operationsUrl}/readyz`)).status).toBe(200);
    expect(node.lines.filter(({ msg }) => /created the first administrator/.test(String(msg)))).toHaveLength(1);
  });

  test("serves each connection by the worker with the fewest, and numbers the lines of its log", async () => {
    const connections = Array.from({ length: 20 }, () => connectHttp1(node.url));
    for (const { send } of connections) expect((await send(meOf(node.admin.token))).status).toBe(200);
    for (const one of connections) one[Symbol.dispose]();
    const calls = await until(async () => {
      const lines = node.lines.filter(({ operation }) => operation === "/postern.v1.AccountService/GetMe");
      return lines.length === 20 && lines;
    });
    const byWorker = Map.groupBy(calls, ({ worker }) => worker);
    expect([...byWorker.keys()].toSorted()).toEqual([1, 2]);
    for (const lines of byWorker.values()) expect(lines.length).toBeGreaterThan(4);
  });

  test("adds up the metrics of both, and goes on counting when one has ended", async () => {
    const before = await sample(node.url, getMe);
    await callOnEach(node, 30);
    // The numbers are at most a second old.
    await until(async () => (await sample(node.url, getMe)) === before + 30);
    expect(await sample(node.url, "postern_workers_serving")).toBe(2);
    const ended = await endWorker(node, 2, "SIGKILL");
    expect(ended).toMatchObject({ level: 50, ended: "by SIGKILL" });
    expect(await sample(node.url, getMe)).toBeGreaterThanOrEqual(before + 30);
    expect(await sample(node.url, "postern_workers_ended_total")).toBeGreaterThan(0);
  });

  test("an error that nothing handles ends one worker alone, which is started again", async () => {
    const first = await connectTo(node, 1);
    const ended = await endWorker(node, 2, "SIGUSR2");
    expect(ended).toMatchObject({ ended: "with code 1" });
    const [fault] = node.lines.filter(({ level }) => level === 60);
    expect(fault).toMatchObject({ worker: 2, err: { message: "a promise that nobody handles" } });
    expect((await first()).status).toBe(200);
  });

  test("a worker that hangs keeps one new connection, and the other serves the rest", async () => {
    const pid = (await workersOf(node.child)).get(2) ?? 0;
    process.kill(pid, "SIGSTOP");
    let answered = 0;
    const asked = Array.from({ length: 12 }, async () => {
      const outcome = await askOnce(node.url);
      answered += 1;
      return outcome;
    });
    await until(async () => answered >= 11);
    process.kill(pid, "SIGCONT");
    expect(new Set(await Promise.all(asked))).toEqual(new Set(["answered"]));
  });

  test("counts wrong passwords over both workers, up to the limit of the node", async () => {
    const body = Buffer.from(JSON.stringify({ loginName: "nobody", password: "a wrong one" }));
    // The address of the connection is a proxy's, which names its client.
    const headers = { "content-type": "application/json", "x-forwarded-for": "203.0.113.9" };
    const request = { method: "POST", path: "/v1/sessions", headers, body };
    const reasonOf = ({ body }: HttpResponse) => JSON.parse(body.toString()).details[0].reason;
    const [one, two] = [await connectTo(node, 1), await connectTo(node, 2)];
    const failed = `postern_calls_total{operation="/postern.v1.SessionService/CreateSession",door="json",code="UNAUTHENTICATED"}`;
    for (let nth = 0; nth < 2; nth++) expect(reasonOf(await one(request))).not.toBe("PASSWORD_ATTEMPTS");
    // Numbers come the same way as failures, and behind them.
    await until(async () => (await sample(node.url, failed)) === 2);
    expect(reasonOf(await two(request))).toBe("PASSWORD_ATTEMPTS");
  });

  test("reads the PROXY header of a proxy that it trusts", async () => {
    const header = proxyHeader({ addresses: ipv4("203.0.113.7") });
    const request = Buffer.from("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    expect(await sendBytes(node, Buffer.concat([header, request]))).toMatch(/^HTTP\/1.1 200 /);
  });

  test("goes on serving through a worker while another is killed again and again", async () => {
    const call = await connectTo(node, 1);
    const statuses = new Set<number>();
    let isOver = false;
    const calling = (async () => {
      while (!isOver) statuses.add((await call()).status);
    })();
    for (let nth = 0; nth < 3; nth++) await endWorker(node, 2, "SIGKILL");
    isOver = true;
    await calling;
    expect([...statuses]).toEqual([200]);
    // A new connection may have been on its way to the worker that was killed; no other one fails.
    expect(await askOnce(node.url)).toBe("answered");
  });
});

/** Ends a worker by a signal, and waits until it serves again; returns the line about its end. */
async function endWorker({ child, lines }: Serving, number: number, signal: NodeJS.Signals) {
  const pid = (await workersOf(child)).get(number) ?? 0;
  const before = lines.length;
  process.kill(pid, signal);
  await until(
    async () =>
      lines.slice(before).some(({ worker, msg }) => worker === number && /is serving again/.test(String(msg))),
    60_000,
  );
  return lines.slice(before).find(({ worker, msg }) => worker === number && /being restarted/.test(String(msg)));
}

/** A connection to the worker of this number, found by the lines of its calls; it sends GetMe, or another request. */
async function connectTo({ url, admin, lines }: Serving, number: number) {
  const request = meOf(admin.token);
  for (;;) {
    const { send } = connectHttp2(url);
    const { headers } = await send(request);
    const id = headers["x-request-id"];
    const { worker } = await until(async () => lines.find(({ requestId }) => requestId === id) ?? false);
    if (worker === number) return (other: HttpRequest = request) => send(other);
  }
}

test("every worker speaks TLS, and reads the certificate again when its parent is told to", async () => {
  await using stack = new AsyncDisposableStack();
  const [first, second] = [stack.use(await certificateFor("first")), stack.use(await certificateFor("second"))];
  await using node = await startNode({ TLS_CERT_FILE: first.certFile, TLS_KEY_FILE: first.keyFile });
  await callOnEach(node, 6);
  expect(await nameShown(node.url)).toBe("first");
  await Promise.all([copyFile(second.certFile, first.certFile), copyFile(second.keyFile, first.keyFile)]);
  node.child.kill("SIGHUP");
  await until(async () => node.lines.filter(({ msg }) => msg === "certificate read again").length === 2);
  for (let nth = 0; nth < 4; nth++) expect(await nameShown(node.url)).toBe("second");
});

test("a node whose workers end and cannot be started again ends with code 1", async () => {
  await using at = await freshDatabase();
  await using node = await serve(at.url, { WORKERS: "2" });
  const workers = [...(await workersOf(node.child)).values()];
  const name = new URL(at.url).pathname.slice(1);
  await ask(inject("databaseUrl"), `alter database ${name} allow_connections false`);
  const exited = once(node.child, "exit");
  for (const pid of workers) process.kill(pid, "SIGKILL");
  expect(await exited).toEqual([1, null]);
  expect(node.errors()).toMatch(/^postern: no worker is serving, and none can be started$/m);
});

test("a port that is taken is named, and nothing is started", async () => {
  await using stack = new AsyncDisposableStack();
  const taken = createServer().listen(0, "127.0.0.1");
  stack.defer(() => void taken.close());
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  const env = { PORT: port, WORKERS: "2", DATABASE_URL: "postgresql://x@127.0.0.1:1/none" };
  const { code, out, err } = await postern(["serve"], {
    env: { ...env, POSTERN_MASTER_KEY: Buffer.alloc(32, 1).toString("base64") },
  });
  const sentence = `postern: 127.0.0.1:${port} is in use: stop the program that listens there, or set PORT or OPERATIONS_PORT\n`;
  expect({ code, out, err }).toEqual({ code: 1, out: "", err: sentence });
});

test("a start that is not possible is told once, with code 1", async () => {
  const env = { PORT: "0", WORKERS: "4", DATABASE_URL: "postgresql://x@127.0.0.1:1/none" };
  const { code, err } = await postern(["serve"], {
    env: { ...env, POSTERN_MASTER_KEY: Buffer.alloc(32, 1).toString("base64") },
  });
  expect(code).toBe(1);
  expect(err).toMatch(/^postern: The database cannot be used \(.*\): check DATABASE_URL.*\n$/);
});

test("no person starts a worker", async () => {
  const sentence = "postern: worker is started by serve, where WORKERS is more than 1\n";
  expect(await postern(["worker", "1"])).toEqual({ code: 1, out: "", err: sentence });
  expect((await postern(["help"])).out).not.toMatch(/^ {2}worker /m);
});

test("a stop under load cuts no connection that was accepted, ends all processes, and is no fault", async () => {
  await using node = await startNode();
  const workers = [...(await workersOf(node.child)).values()];
  const clients = untilRefused(node.url, 60);
  const { send } = connectHttp2(node.url);
  const me = meOf(node.admin.token);
  expect((await send(me)).status).toBe(200);
  const last = Array.from({ length: 50 }, () => send(me));
  const exited = once(node.child, "exit");
  node.child.kill("SIGTERM");
  // Workers ignore the signal that a terminal or a supervisor sends to all processes.
  for (const pid of workers) process.kill(pid, "SIGTERM");
  const outcomes = await clients;
  // The kernel resets those that wait to be accepted in the instant of the close: one or two, and 13 on a busy machine. The port of
  // node:cluster closes with its last worker, and 58 were reset.
  expect(outcomes.get("reset") ?? 0).toBeLessThan(30);
  expect(outcomes.get("closed") ?? 0).toBe(0);
  expect(outcomes.get("refused")).toBe(60);
  expect(new Set((await Promise.all(last)).map(({ status }) => status))).toEqual(new Set([200]));
  expect(await exited).toEqual([0, null]);
  expect(workers.filter(isRunning)).toEqual([]);
});

test.each(["SIGKILL", "SIGTERM twice"])("when the parent ends at once, by %s, no worker is left", async (how) => {
  await using node = await startNode({ SHUTDOWN_DELAY_MS: "60000" });
  const workers = [...(await workersOf(node.child)).values()];
  if (how === "SIGKILL") node.child.kill("SIGKILL");
  else {
    node.child.kill("SIGTERM");
    await until(async () => (await fetch(`${node.url}/readyz`)).status === 503);
    node.child.kill("SIGTERM");
  }
  await until(async () => workers.every((pid) => !isRunning(pid)));
});

test("an administrator made at the first start is that of all workers, with the embedded database", async () => {
  await using node = await serve("", { WORKERS: "2", POSTERN_MASTER_KEY: "" });
  await callOnEach(node, 8);
  const exited = once(node.child, "exit");
  node.child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});
