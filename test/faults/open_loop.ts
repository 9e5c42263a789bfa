// Run as a process of its own: makes calls at a rate, whether earlier ones are answered or not, and writes what became of them.
import { connect } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { type OpenLoopOptions, type OpenLoopResult, spreadOf, unique } from "./spread.ts";

const { url, calls, headers, rate, seconds, deadlineMs }: OpenLoopOptions = JSON.parse(process.argv[2] ?? "");
// No connection has more streams than a server allows, so that no call waits here.
const connections = Array.from({ length: 32 }, () => connect(url).on("error", () => {}));
const result: OpenLoopResult = { sent: 0, accepted: 0, late: 0, refused: 0, unhelpful: 0, expired: 0, failed: 0 };
const times: number[] = [];
const timesOf = new Map<string, number[]>(calls.map(({ operation }) => [operation, []]));
const waits: number[] = [];
let underWay = 0;

const fields = {
  ":method": "POST",
  "content-type": "application/json",
  "connect-timeout-ms": String(deadlineMs),
  ...headers,
};

const tickMs = 5;
const began = performance.now();
for (let due = 0; due < rate * seconds; await pause(tickMs)) {
  due = Math.min(rate * seconds, ((performance.now() - began) / 1000) * rate);
  while (result.sent < due) call(result.sent++);
}
while (underWay > 0) await pause(10);
for (const connection of connections) connection.destroy();
const [all, refused] = [spreadOf(times), spreadOf(waits)];
const operations = Object.fromEntries([...timesOf].map(([operation, of]) => [operation, spreadOf(of)]));
const figures = { p50: all.p50, p99: all.p99, refusedP50: refused.p50, refusedP99: refused.p99, operations };
process.stdout.write(JSON.stringify({ ...result, ...figures }));

function call(n: number): void {
  const { operation, path, body } = calls[n % calls.length] as (typeof calls)[number];
  underWay++;
  const since = performance.now();
  const stream = connections[n % connections.length]?.request({ ...fields, ":path": path });
  let [status, retryAfter, text] = [0, false, ""];
  stream?.on("response", (answer) => {
    status = Number(answer[":status"]);
    retryAfter = answer["retry-after"] !== undefined;
  });
  stream?.on("error", () => {});
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  stream?.on("close", () => {
    underWay--;
    count(status, {
      operation,
      ms: performance.now() - since,
      isHelpful: retryAfter && text.includes("google.rpc.RetryInfo"),
      text,
    });
  });
  stream?.end(body.replaceAll(unique, `${process.pid}-${n}`));
}

type Answered = { readonly operation: string; readonly ms: number; readonly isHelpful: boolean; readonly text: string };

function count(status: number, { operation, ms, isHelpful, text }: Answered): void {
  if (status === 200) {
    result.accepted++;
    times.push(ms);
    timesOf.get(operation)?.push(ms);
    if (ms > deadlineMs) result.late++;
  } else if (status === 429 || status === 503) {
    result.refused++;
    waits.push(ms);
    if (!isHelpful) result.unhelpful++;
  } else if (text.includes("DEADLINE_EXCEEDED") || text.includes("deadline_exceeded")) result.expired++;
  else {
    if (result.failed++ === 0) process.stderr.write(`${status} ${text}\n`);
  }
}
