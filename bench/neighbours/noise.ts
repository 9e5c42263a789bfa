import { connect } from "node:net";
import { idOf, role } from "../../test/fixture/seed.ts";

/** Whom the noise is made with, and how many users the organization was loaded with. */
export type Noise = { readonly url: string; readonly token: string; readonly users: number };

const { url, token, users } = JSON.parse(process.argv[2] ?? "") as Noise;
const stop = new AbortController();
const counts: Record<string, number> = {};
let serial = 0;

/** Makes a call, whatever its outcome, and counts it. */
async function call(kind: string, operation: string, body?: object, by = token): Promise<Response | undefined> {
  const [method = "", path = ""] = operation.split(" ");
  const headers = { "content-type": "application/json", ...(by ? { authorization: `Bearer ${by}` } : {}) };
  const init = { method, headers, signal: stop.signal, ...(body ? { body: JSON.stringify(body) } : {}) };
  const answer = await fetch(url + path, init).catch(() => undefined);
  const outcome = `${kind} ${answer?.status ?? "failed"}`;
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  return answer;
}

async function drained(answer: Promise<Response | undefined>): Promise<void> {
  await (await answer)?.arrayBuffer().catch(() => {});
}

/** Removes what many hold, and creates what is deleted with everything in it. */
async function deletes(): Promise<void> {
  await drained(call("role of 20,000 removed", `DELETE /v1/projects/${idOf("project", 0)}/roles/${role}`));
  while (!stop.signal.aborted) {
    const made = await call("project created", "POST /v1/projects", { name: `Noise ${serial++}` });
    const { projectId } = ((await made?.json().catch(() => ({}))) ?? {}) as { projectId?: string };
    if (!projectId) continue;
    await drained(call("role added", `POST /v1/projects/${projectId}/roles`, { key: "a" }));
    const items = Array.from({ length: 1_000 }, (_, n) => ({ userId: idOf("user", n), projectId, roleKeys: ["a"] }));
    await drained(call("1,000 grants added", "POST /v1/user-grants:batchAdd", { items }));
    await drained(call("project deleted", `DELETE /v1/projects/${projectId}`));
  }
}

async function imports(): Promise<void> {
  while (!stop.signal.aborted) {
    serial += 500;
    const from = serial;
    const items = Array.from({ length: 500 }, (_, n) => ({
      human: { username: `noise${from + n}`, givenName: "A", familyName: "B", email: `noise${from + n}@example.com` },
    }));
    await drained(call("500 users created", "POST /v1/users:batchCreate", { items }));
  }
}

/** Lists by words of which each is in many names, and all together in none. */
async function lists(): Promise<void> {
  const worst = [
    "GET /v1/users?filter.search=a+b+zzz&pageSize=1000",
    `GET /v1/user-grants?projectId=${idOf("project", 0)}&pageSize=1000`,
    "GET /v1/events?types=user.human_created&pageSize=1000",
  ];
  for (let n = 0; !stop.signal.aborted; n++) await drained(call("lists", worst[n % worst.length] ?? ""));
}

async function wrongPasswords(): Promise<void> {
  while (!stop.signal.aborted) {
    const loginName = `user${serial++ % users}`;
    await drained(call("wrong passwords", "POST /v1/sessions", { loginName, password: "Wrong-Kettle-42" }, ""));
  }
}

/** Many changes of one user, which wait for each other's lock. */
async function locks(): Promise<void> {
  while (!stop.signal.aborted) {
    const phone = `+49152${20_000_000 + serial++}`;
    await drained(call("changes of one user", `POST /v1/users/${idOf("user", 1)}/phone`, { phone, returnCode: {} }));
  }
}

/** Streams that nobody reads, and requests whose bodies never end. */
function hangs(): void {
  const { hostname, port } = new URL(url);
  for (let n = 0; n < 100; n++) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const head = `host: ${hostname}\r\nauthorization: Bearer ${token}\r\n`;
    const body = `content-type: application/json\r\ncontent-length: 1000\r\n\r\n{`;
    if (n % 2 === 0) socket.write(`GET /v1/events:watch?after=0 HTTP/1.1\r\n${head}\r\n`);
    else socket.write(`POST /v1/projects HTTP/1.1\r\n${head}${body}`);
    socket.pause();
    stop.signal.addEventListener("abort", () => socket.destroy());
  }
}

process.on("message", () => {
  stop.abort();
  process.send?.(counts);
  process.disconnect();
});
// If the benchmark is interrupted, nobody says stop.
process.on("disconnect", () => stop.abort());
hangs();
const times = (count: number, work: () => Promise<void>) => Array.from({ length: count }, work);
await Promise.all([
  ...[deletes(), ...times(2, imports), ...times(4, lists)],
  ...[...times(16, wrongPasswords), ...times(16, locks)],
]);
