import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { holdStatement } from "../../fixture/held_row.ts";
import { type Answer, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { startTwoNodes } from "../../two_nodes.ts";
import { requestHttp2 } from "../../wire/http2.ts";

// A limit of one or two in a minute leaves half a minute at least until the next sign-in: no test here takes so long.

const wrong = "Wrong-Kettle-42";
const signIn = (postern: Postern, loginName: string, password: string, headers = {}) =>
  postern.as().post("/v1/sessions", { loginName, password }, headers);
const reasonOf = ({ body }: Answer) =>
  body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
const outcomeOf = (answer: Answer) => (answer.status === 200 ? "OK" : `${answer.status} ${reasonOf(answer)}`);

/** The answer of so many wrong sign-ins in a row. */
async function guessed(postern: Postern, name: string, times: number): Promise<string[]> {
  const outcomes: string[] = [];
  for (let guess = 0; guess < times; guess++) outcomes.push(outcomeOf(await signIn(postern, name, wrong)));
  return outcomes;
}

test("after ten wrong sign-ins a login name has to wait, known or not, and all answers are equal", async () => {
  await using postern = await startPostern();
  const { username, password } = await signedUp(postern);
  for (const name of [username, "nobody-of-this-name"])
    expect(await guessed(postern, name, 10)).toEqual(Array(10).fill("401 SIGN_IN_FAILED"));
  const right = await signIn(postern, username.toUpperCase(), password);
  const alsoWrong = await signIn(postern, username, wrong);
  const unknown = await signIn(postern, "nobody-of-this-name", password);
  for (const answer of [right, alsoWrong, unknown]) {
    expect(outcomeOf(answer)).toBe("429 PASSWORD_ATTEMPTS");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(800);
    expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(900);
    expect(JSON.stringify(answer.body)).toContain("retryDelay");
  }
  const withoutWait = ({ body }: Answer) => JSON.stringify(body).replace(/"retryDelay":"[^"]*"/, "");
  expect(new Set([right, alsoWrong, unknown].map(withoutWait)).size).toBe(1);
  const other = await signedUp(postern);
  expect(outcomeOf(await signIn(postern, other.username, other.password))).toBe("OK");
});

test("a stricter or laxer policy of an organization does not show who is in it", async () => {
  await using postern = await startPostern();
  const names = ["nobody-of-this-name"];
  for (const maximumAttempts of [3, 0, 100]) {
    const organizationId = await organization(postern);
    const policy = { policy: { maximumAttempts } };
    await postern.admin.put("/v1/policies/lockout", policy, { "x-service-orgid": organizationId });
    names.push((await signedUp(postern, { organizationId })).username);
  }
  const answers = await Promise.all(names.map((name) => guessed(postern, name, 12)));
  const expected = [...Array(10).fill("401 SIGN_IN_FAILED"), ...Array(2).fill("429 PASSWORD_ATTEMPTS")];
  for (const outcomes of answers) expect(outcomes).toEqual(expected);
});

const instance = (policy: object) => ({ instance: true, policy });

test("strangers wait as long as a lock of the instance lasts, but an hour at most", async () => {
  await using postern = await startPostern();
  const policies = [
    { policy: { maximumAttempts: 2, lockDuration: "60s" }, seconds: 60 },
    { policy: { maximumAttempts: 2, lockDuration: "86400s" }, seconds: 3600 },
    { policy: { maximumAttempts: 2, untilUnlocked: true }, seconds: 3600 },
    { policy: { maximumAttempts: 1 }, seconds: 900 },
    { policy: { maximumAttempts: 0 }, seconds: 60 },
  ];
  for (const { policy, seconds } of policies) {
    expect((await postern.admin.put("/v1/policies/lockout", instance(policy))).status).toBe(200);
    const { username, password } = await signedUp(postern);
    for (const name of [username, `nobody-${username}`]) {
      await guessed(postern, name, policy.maximumAttempts || 10);
      const refused = await signIn(postern, name, password);
      expect([policy, outcomeOf(refused)]).toEqual([policy, "429 PASSWORD_ATTEMPTS"]);
      const waits = Number(refused.headers.get("retry-after"));
      expect([policy, waits <= seconds, waits > seconds - 50]).toEqual([policy, true, true]);
    }
  }
});

test("however many names are tried, none of their counts is forgotten", async () => {
  await using nodes = await startTwoNodes();
  const { username, password } = await signedUp(nodes.one);
  await guessed(nodes.one, username, 5);
  await using database = openClient(nodes.databaseUrl);
  // As a flood of names leaves them: more than any table of a node would hold.
  await database.client`
    insert into sign_in_failures select 'flood-' || n, 9, 0, null, now() + interval '1 day' from generate_series(1, 200000) n`;
  await guessed(nodes.two, username, 5);
  for (const node of [nodes.one, nodes.two])
    expect(outcomeOf(await signIn(node, username, password))).toBe("429 PASSWORD_ATTEMPTS");
});

test("right passwords are not slowed down, however many come", async () => {
  await using postern = await startPostern({ signInFailuresPerAddressPerMinute: 8 });
  const { username, password } = await signedUp(postern);
  for (let times = 0; times < 4; times++) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => signIn(postern, username, password)));
    expect(answers.map(outcomeOf)).toEqual(Array(8).fill("OK"));
  }
});

test("after wrong sign-ins an address has to wait, whatever the name and the version of HTTP", async () => {
  await using postern = await startPostern({ signInFailuresPerAddressPerMinute: 2 });
  const { username, password } = await signedUp(postern);
  // Without a trusted proxy anybody could write this header.
  const headers = { "x-forwarded-for": "203.0.113.9" };
  for (const name of ["nobody-1", "nobody-2"])
    expect(outcomeOf(await signIn(postern, name, wrong, headers))).toBe("401 SIGN_IN_FAILED");
  expect(outcomeOf(await signIn(postern, username, password))).toBe("429 PASSWORD_ATTEMPTS");
  const body = Buffer.from(JSON.stringify({ loginName: username, password }));
  const post = { ":method": "POST", ":path": "/v1/sessions", "content-type": "application/json" };
  expect((await requestHttp2(postern.url, post, body)).status).toBe(429);
});

test("of guesses at once from one address no more are tried than it may make", async () => {
  await using postern = await startPostern({ signInFailuresPerAddressPerMinute: 3 });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => signIn(postern, `nobody-${at}`, wrong)));
  expect(answers.map(outcomeOf).filter((outcome) => outcome === "401 SIGN_IN_FAILED")).toHaveLength(3);
});

test("a guess counts although its caller hangs up before the answer", async () => {
  await using postern = await startPostern();
  expect((await postern.admin.put("/v1/policies/lockout", instance({ maximumAttempts: 1 }))).status).toBe(200);
  await using database = openClient(postern.databaseUrl);
  // With an imported hash anywhere, a failed sign-in waits before it is answered.
  const person = { username: `u-${randomBytes(6).toString("hex")}`, givenName: "Ada", familyName: "Byron" };
  const passwordHash = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.aDV7CQarKHMuNfh2oJkFzsHZya4whFe";
  await postern.admin.post("/v1/users/human", { ...person, email: "ada@example.com", passwordHash });
  const guessed = async () => {
    const { userId, username, password } = await signedUp(postern);
    const body = JSON.stringify({ loginName: username, password: wrong });
    const aborting = new AbortController();
    const request = { method: "POST", headers: { "content-type": "application/json" }, body, signal: aborting.signal };
    const answer = fetch(`${postern.url}/v1/sessions`, request);
    const counted = () => database.client`select from password_attempts where user_id = ${userId}`;
    await expect.poll(counted).toHaveLength(1);
    aborting.abort();
    await expect(answer).rejects.toThrow();
    return outcomeOf(await signIn(postern, username, password));
  };
  // One that is cut off before it was checked counts for nothing, and one during the check may leave the user locked: each has its own.
  await expect.poll(guessed).toBe("429 PASSWORD_ATTEMPTS");
});

test("a guess that locks its user counts for the name as well, although its caller hangs up while the lock is written", async () => {
  await using postern = await startPostern();
  expect((await postern.admin.put("/v1/policies/lockout", instance({ maximumAttempts: 1 }))).status).toBe(200);
  await using database = openClient(postern.databaseUrl);
  const { userId, username, password } = await signedUp(postern);
  const body = JSON.stringify({ loginName: username, password: wrong });
  const aborting = new AbortController();
  const request = { method: "POST", headers: { "content-type": "application/json" }, body, signal: aborting.signal };
  {
    await using _ = await holdStatement(
      postern.databaseUrl,
      `update users set changed = changed where user_id = '${userId}'`,
    );
    const answer = fetch(`${postern.url}/v1/sessions`, request);
    const waiting = () => database.client`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(async () => (await waiting()).length, { timeout: 60_000 }).toBeGreaterThan(0);
    aborting.abort();
    await expect(answer).rejects.toThrow();
  }
  const waits = () => database.client`select from sign_in_failures where subject = ${userId} and wait_until > now()`;
  await expect.poll(waits, { timeout: 60_000 }).toHaveLength(1);
  expect(outcomeOf(await signIn(postern, username, password))).toBe("429 PASSWORD_ATTEMPTS");
});

test("behind a trusted proxy each client counts by the address that the proxy saw", async () => {
  await using postern = await startPostern({
    signInFailuresPerAddressPerMinute: 1,
    trustedProxies: ["127.0.0.0/8", "10.0.0.5"],
  });
  let guesses = 0;
  const guess = async (forwarded?: string) =>
    outcomeOf(
      await signIn(postern, `nobody-${++guesses}`, wrong, forwarded ? { "x-forwarded-for": forwarded } : undefined),
    );
  const [failed, waits] = ["401 SIGN_IN_FAILED", "429 PASSWORD_ATTEMPTS"];
  expect(await guess("203.0.113.7")).toBe(failed);
  expect(await guess("203.0.113.7")).toBe(waits);
  expect(await guess("203.0.113.8")).toBe(failed);
  // Addresses that a client wrote stand in front of those that the proxies appended.
  expect(await guess("198.51.100.1, 203.0.113.7, 10.0.0.5")).toBe(waits);
  expect(await guess("203.0.113.7:4711")).toBe(waits);
  expect(await guess("::ffff:203.0.113.7")).toBe(waits);
  expect(await guess("2001:db8:1:2::7")).toBe(failed);
  expect(await guess("[2001:db8:1:2:ffff::8]:4711")).toBe(waits);
  expect(await guess("2001:db8:1:3::7")).toBe(failed);
  // A proxy that names nobody stands for all clients.
  for (const nobody of [undefined, "unknown", "10.0.0.5", ""])
    for (let times = 0; times < 2; times++) expect(await guess(nobody)).toBe(failed);
});

test("of guesses at once, from many addresses and on two nodes, none is told to be right once they make a name wait", async () => {
  // So slow that the last ones are checked long after the first ones were counted, on a busy machine too.
  const slow = { hashConcurrency: 1, hashMemoryKib: 4096, hashIterations: 10 };
  await using nodes = await startTwoNodes({ signInFailuresPerAddressPerMinute: 0, ...slow });
  expect((await nodes.one.admin.put("/v1/policies/lockout", instance({ maximumAttempts: 0 }))).status).toBe(200);
  const { username, password } = await signedUp(nodes.one);
  const weak = (node: Postern) =>
    node.as().post("/v1/sessions", { loginName: username, password, newPassword: "weak" });
  const wrongs = Array.from({ length: 36 }, (_, nth) => signIn(nodes.through(nth), username, wrong));
  // Sent earlier, they could arrive before the wrong ones, and be right.
  await Promise.race(wrongs);
  const rights = [nodes.one, nodes.two].flatMap((node) => [signIn(node, username, password), weak(node)]);
  await Promise.all(wrongs);
  expect((await Promise.all(rights)).map(outcomeOf)).toEqual(Array(4).fill("429 PASSWORD_ATTEMPTS"));
});
