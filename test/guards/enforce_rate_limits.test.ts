import { expect, test } from "vitest";
import { describeAll } from "../../src/contract/describe.ts";
import { services } from "../../src/runtime/modules.ts";
import { newToken } from "../../src/security/token.ts";
import { type Answer, type Client, machine, organization, type Postern, startPostern } from "../harness.ts";
import { startTwoNodes } from "../two_nodes.ts";
import { sendBytes } from "../wire/tcp.ts";

const me = "/v1/users/me";
const reasonOf = ({ body }: Answer) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
const outcomeOf = (answer: Answer) => (answer.status === 200 ? "OK" : `${answer.status} ${reasonOf(answer)}`);
const refused = "429 RATE_LIMIT";
const from = (address: string) => ({ "x-forwarded-for": address });
const trustedProxies = ["127.0.0.1"];

/** Calls until one is refused: a call is made up for now and then meanwhile. */
async function untilRefused(client: Client, headers: Record<string, string> = {}): Promise<Answer> {
  for (let calls = 0; calls < 1000; calls++) {
    const answer = await client.get(me, headers);
    if (answer.status === 429) return answer;
  }
  throw new Error("no call was refused");
}

/** A machine that may make calls in an organization. */
const member = async (postern: Postern, organizationId: string) => machine(postern, { organizationId });

test("a user who makes too many calls has to wait, and is told how long; others need not", async () => {
  await using postern = await startPostern({ callsPerCallerPerMinute: 20 });
  const [one, other] = [(await machine(postern)).client, (await machine(postern)).client];
  const first = await one.get(me);
  expect([first.headers.get("ratelimit"), first.headers.get("ratelimit-policy")]).toEqual([null, null]);
  // A call is made up for every three seconds.
  let near = await one.get(me);
  while (!near.headers.has("ratelimit")) near = await one.get(me);
  const [, left, seconds] = /^"caller";r=(\d);t=(\d\d)$/.exec(near.headers.get("ratelimit") ?? "") ?? [];
  expect(Number(left) / Number(seconds)).toBeLessThanOrEqual(20 / 60);
  expect(near.headers.get("ratelimit-policy")).toBe('"caller";q=20;w=60');
  const answer = await untilRefused(one);
  expect(outcomeOf(answer)).toBe(refused);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(3);
  expect(answer.headers.get("ratelimit")).toBe(`"caller";r=0;t=${answer.headers.get("retry-after")}`);
  expect(answer.headers.get("ratelimit-policy")).toBe('"caller";q=20;w=60');
  expect(JSON.stringify(answer.body)).toContain("retryDelay");
  expect(outcomeOf(await other.get(me))).toBe("OK");
});

test("the users of one organization share its calls, and cannot use up those of another one", async () => {
  await using postern = await startPostern({ callsPerOrganizationPerMinute: 40 });
  const [busy, quiet] = [await organization(postern), await organization(postern)];
  const [one, other] = [(await member(postern, busy)).client, (await member(postern, busy)).client];
  const third = (await member(postern, quiet)).client;
  expect(outcomeOf(await untilRefused(one, { "x-service-orgid": quiet }))).toBe(refused);
  expect(outcomeOf(await untilRefused(other))).toBe(refused);
  expect(outcomeOf(await third.get(me))).toBe("OK");
});

test("an address that makes too many calls has to wait whatever its token, and none is looked at", async () => {
  await using postern = await startPostern({ callsPerAddressPerMinute: 2, trustedProxies });
  const address = from("203.0.113.7");
  const unknown = postern.as(newToken("pt"));
  expect(outcomeOf(await unknown.get(me, address))).toBe("401 TOKEN_INVALID");
  expect(outcomeOf(await postern.as().get(me, address))).toBe("401 UNAUTHENTICATED");
  for (const client of [unknown, postern.as(), postern.admin, postern.as("x")])
    expect(outcomeOf(await client.get(me, address))).toBe(refused);
  expect(outcomeOf(await postern.as().post("/v1/sessions", { loginName: "a", password: "b" }, address))).toBe(refused);
  expect(outcomeOf(await postern.admin.get(me, from("203.0.113.8")))).toBe("OK");
  // A proxy that names nobody stands for all clients.
  for (let times = 0; times < 10; times++) expect(outcomeOf(await postern.admin.get(me))).toBe("OK");
});

test("all addresses of one /64 of IPv6 count as one, however they are written", async () => {
  await using postern = await startPostern({ callsPerAddressPerMinute: 2, trustedProxies });
  const outcome = async (address: string) => outcomeOf(await postern.admin.get(me, from(address)));
  expect(await outcome("2001:db8:1:2::7")).toBe("OK");
  expect(await outcome("2001:0DB8:1:2:ffff::8")).toBe("OK");
  expect(await outcome("[2001:db8:1:2:3:4:5:6]:4711")).toBe(refused);
  expect(await outcome("2001:db8:1:3::7")).toBe("OK");
});

test("documents count as calls of an address; health and the probes are never refused", async () => {
  await using postern = await startPostern({ callsPerAddressPerMinute: 1, trustedProxies });
  const address = from("203.0.113.7");
  const check = () => postern.as().post("/grpc.health.v1.Health/Check", {}, address);
  expect((await postern.as().get("/openapi.json", address)).status).toBe(200);
  for (const path of ["/openapi.json", "/docs", "/metrics"]) {
    const answer = await postern.as().get(path, address);
    expect(outcomeOf(answer), path).toBe(refused);
    expect(answer.headers.get("ratelimit"), path).toContain('"address";r=0');
  }
  for (let times = 0; times < 5; times++) {
    expect((await check()).status).toBe(200);
    for (const path of ["/healthz", "/readyz"]) expect((await postern.as().get(path, address)).status).toBe(200);
  }
});

test("an address that sends many tokens that nobody has waits with new ones, and tokens in use go on", async () => {
  await using postern = await startPostern({
    ...{ unknownTokensPerAddressPerMinute: 2, trustedProxies, cacheSeconds: 3600 },
  });
  const address = from("203.0.113.7");
  const [known, late] = [(await machine(postern)).client, (await machine(postern)).client];
  expect(outcomeOf(await known.get(me, address))).toBe("OK");
  const guess = async () => outcomeOf(await postern.as(newToken("pt")).get(me, address));
  expect([await guess(), await guess(), await guess()]).toEqual(["401 TOKEN_INVALID", "401 TOKEN_INVALID", refused]);
  expect(outcomeOf(await known.get(me, address))).toBe("OK");
  expect(outcomeOf(await late.get(me, address))).toBe(refused);
  expect(outcomeOf(await late.get(me, from("203.0.113.8")))).toBe("OK");
});

test("of unknown tokens at once from one address no more are looked up than it may send", async () => {
  await using postern = await startPostern({ unknownTokensPerAddressPerMinute: 3, trustedProxies });
  const guesses = Array.from({ length: 50 }, () => postern.as(newToken("pt")).get(me, from("203.0.113.7")));
  const outcomes = (await Promise.all(guesses)).map(outcomeOf);
  expect(outcomes.filter((outcome) => outcome === "401 TOKEN_INVALID")).toHaveLength(3);
  expect(outcomes.filter((outcome) => outcome === refused)).toHaveLength(47);
});

test("tokens that are known count as nothing, also when all of them come at once", async () => {
  await using postern = await startPostern({ unknownTokensPerAddressPerMinute: 2, trustedProxies, cacheSeconds: 0 });
  for (let times = 0; times < 10; times++)
    expect(outcomeOf(await postern.admin.get(me, from("203.0.113.7")))).toBe("OK");
});

test("of two nodes each allows as many calls, and as many failed sign-ins of an address", async () => {
  await using nodes = await startTwoNodes({
    callsPerAddressPerMinute: 3,
    signInFailuresPerAddressPerMinute: 1,
    trustedProxies,
  });
  const each = [nodes.one, nodes.two];
  const [address, other] = [from("203.0.113.7"), from("203.0.113.8")];
  const guess = (node: Postern) => node.as().post("/v1/sessions", { loginName: "nobody", password: "wrong" }, other);
  for (const node of each) {
    expect(outcomeOf(await guess(node))).toBe("401 SIGN_IN_FAILED");
    for (let calls = 0; calls < 3; calls++) expect(outcomeOf(await node.admin.get(me, address))).toBe("OK");
  }
  for (const node of each) {
    expect(outcomeOf(await guess(node))).toBe("429 PASSWORD_ATTEMPTS");
    expect(outcomeOf(await node.admin.get(me, address))).toBe(refused);
  }
});

test("a body of a call too many is not waited for", async () => {
  await using postern = await startPostern({ callsPerAddressPerMinute: 1, trustedProxies });
  await postern.admin.get(me, from("203.0.113.7"));
  const head = ["POST /v1/sessions HTTP/1.1", "host: a", "x-forwarded-for: 203.0.113.7", "content-length: 4000000"];
  const text = await sendBytes(postern, `${head.join("\r\n")}\r\n\r\n{`, /RATE_LIMIT/);
  expect(text).toMatch(/^HTTP\/1.1 429 /);
});

test("limits by address refuse a call before its message is read, at each rpc that has one", async () => {
  await using postern = await startPostern({
    signInFailuresPerAddressPerMinute: 1,
    passwordResetsPerAddressPerMinute: 1,
  });
  const limited = describeAll(services).filter(({ access: { addressLimit } }) => addressLimit !== "");
  expect(limited.length).toBeGreaterThan(4);
  // Each is counted once by its handler; where several count together, the first of them has used it up.
  const wrong: Record<string, object> = {
    RequestPasswordReset: { loginName: "nobody" },
    ResetPassword: { verificationCode: "ABCDEFGH", newPassword: "Blue-Kettle-42" },
    RequestRegistration: { organizationId: "none", email: "nobody@example.com" },
    CompleteRegistration: { code: "ABCDEFGH", givenName: "A", familyName: "B", password: "Blue-Kettle-42" },
    CreateSession: { loginName: "nobody", password: "wrong" },
    CompleteSession: { pendingToken: "wrong", recoveryCode: "wrong" },
    StartMailSession: { loginName: "nobody" },
    CreateMailSession: { challengeToken: "wrong", verificationCode: "wrong" },
    CreatePasskeySession: { challengeToken: "wrong", credential: { id: "x" } },
  };
  for (const { method, path } of limited) {
    const call = (body: string) =>
      fetch(`${postern.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body });
    const first = await call(JSON.stringify(wrong[method.name] ?? {}));
    expect(first.status, method.name).not.toBe(429);
    expect((await call("{this is not read")).status, method.name).toBe(429);
  }
});

const preflight = { origin: "https://app.example.com", "access-control-request-method": "GET" };

test("callers and requests beyond a limit are refused late, also a crowd of them, and one that leaves or a node that stops harms nobody", async () => {
  const postern = await startPostern({ callsPerAddressPerMinute: 1, trustedProxies });
  const headers = from("203.0.113.9");
  const refusedBy: readonly ((signal?: AbortSignal) => Promise<Response>)[] = [
    (signal) => fetch(postern.url + me, { headers, signal: signal ?? null }),
    (signal) => fetch(`${postern.url}/oauth/token`, { method: "POST", headers, signal: signal ?? null }),
    (signal) =>
      fetch(postern.url + me, { method: "OPTIONS", headers: { ...headers, ...preflight }, signal: signal ?? null }),
  ];
  try {
    for (const refusal of refusedBy) {
      let shortestMs = Number.POSITIVE_INFINITY;
      for (let n = 0; n < 5; n++) {
        const began = performance.now();
        const { status } = await refusal();
        if (status === 429) shortestMs = Math.min(shortestMs, performance.now() - began);
      }
      // A timer may be a little early, by Node's rounding.
      expect(shortestMs).toBeGreaterThan(95);
      expect(shortestMs).toBeLessThan(Number.POSITIVE_INFINITY);
      const crowd = await Promise.all(Array.from({ length: 150 }, () => refusal()));
      expect(new Set(crowd.map(({ status }) => status))).toEqual(new Set([429]));
      const leaving = new AbortController();
      const left = refusal(leaving.signal).catch((error: Error) => error.name);
      setImmediate(() => leaving.abort());
      expect(await left).toBe("AbortError");
    }
    expect((await postern.admin.get(me, from("203.0.113.10"))).status).toBe(200);
  } finally {
    const waiting = refusedBy.map((refusal) => refusal().catch(() => undefined));
    await postern[Symbol.asyncDispose]();
    await Promise.all(waiting);
  }
});
