import { setTimeout as pause } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { http1Wire } from "../../packages/gateway/bench/load/http1.ts";
import type { Wire } from "../../packages/gateway/bench/load/wire.ts";

// A caller with a valid token, in a thread of its own: asks GetMe at a steady pace. A call that is late is counted from when it was
// due, and so are those that it held up, or a server that hangs would be asked once and seem to be slow once.
const everyMs = 5;
// More late calls than these are not made up for.
const mostBehind = 400;

/** How long calls took in milliseconds since the last question, and how many failed. */
export type Watched = { readonly times: readonly number[]; readonly failed: number };

const { url, token } = workerData as { readonly url: string; readonly token: string };
const { host } = new URL(url);
const request = `GET /v1/users/me HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`;

let times: number[] = [];
let failed = 0;
let due = performance.now();

parentPort?.on("message", () => {
  const waiting = performance.now() - due;
  const pending = waiting > everyMs ? Array.from(behind(waiting)) : [];
  parentPort?.postMessage({ times: [...times, ...pending], failed } satisfies Watched);
  times = [];
  failed = 0;
  due = performance.now();
});

/** The calls that are due and not answered yet. */
function* behind(waiting: number): Generator<number> {
  for (let late = waiting, n = 0; late > 0 && n < mostBehind; late -= everyMs, n += 1) yield late;
}

let wire: Wire | undefined;
while (true) {
  const wait = due - performance.now();
  if (wait > 0) await pause(wait);
  const mine = due;
  try {
    wire ??= await http1Wire(url, { http: "1", bytes: () => request });
    if (!(await wire.send(0))) failed += 1;
  } catch {
    wire = undefined;
    failed += 1;
    await pause(everyMs);
  }
  // Somebody asked meanwhile: the answer belongs to what was told then.
  if (due > mine) continue;
  times.push(performance.now() - due);
  due = Math.max(due + everyMs, performance.now() - mostBehind * everyMs);
}
