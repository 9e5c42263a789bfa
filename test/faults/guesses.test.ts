import { randomBytes } from "node:crypto";
import { ConnectError, createContextValues } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { readConfig } from "../../src/config/config.ts";
import { keys, systemCall } from "../../src/deps.ts";
import { callSession } from "../../src/services/sessions/new_session.ts";
import { signInsOf } from "../../src/services/sessions/sign_in.ts";
import { type Answer, type Client, signedUp } from "../harness.ts";
import { ask as askDatabase } from "../postgres/embedded/holder.ts";
import { openHandlers } from "../sent_statements.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";

const [guesses, atOnce] = [2_000, 64];
// The bounds of codes are fixed; the limits are those that the service comes with.
const [nodeCount, triesOfCode, triesOfPassword] = [2, 5, 10];
const { phoneSendsPerUser, mailSendsPerUser, ...defaults } = readConfig({});
const { signInFailuresPerAddressPerMinute } = defaults;
const timeout = 600_000;

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await startTwoNodes({
    signInFailuresPerAddressPerMinute,
    trustedProxies: ["127.0.0.0/8"],
  });
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const hex = () => randomBytes(6).toString("hex");
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const reasonOf = ({ status, body }: Answer): string =>
  status === 200 ? "OK" : body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
/** A network of its own for each number. */
const networkOf = (nth: number) => ({ "x-forwarded-for": `10.${nth >> 16}.${(nth >> 8) & 255}.${nth & 255}` });
const oneNetwork = { "x-forwarded-for": "203.0.113.7" };

/** Makes guesses, so many at once, and counts their outcomes; and the minutes that they took. */
async function guessing(count: number, guess: (nth: number) => Promise<Answer>) {
  const began = performance.now();
  const outcomes: Record<string, number> = {};
  let next = 0;
  const guesser = async () => {
    for (let nth = next++; nth < count; nth = next++) {
      const reason = reasonOf(await guess(nth));
      outcomes[reason] = (outcomes[reason] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, guesser));
  return { outcomes, minutes: (performance.now() - began) / 60_000 };
}

/** A code of six characters that is never the right one: it has a letter that no code has. */
const wrongCode = (nth: number) => `A${String(nth).padStart(5, "0")}`;

const proofs = [
  { noun: "phone", asked: { phone: "+41797654321" }, sends: phoneSendsPerUser },
  { noun: "email", asked: { email: "guessed@example.com" }, sends: mailSendsPerUser },
];

test.each(proofs)(
  "of 2,000 guesses at the codes of $noun no more are tried than five for each code that may be sent",
  { timeout },
  async ({ noun, asked, sends }) => {
    const { userId, client } = await signedUp(nodes.one);
    const path = `/v1/users/${userId}/${noun}`;
    const callers = [client, nodes.two.as(client.token)];
    const each = guesses / sends;
    for (let sent = 0; sent < sends; sent++) {
      done(await client.post(sent === 0 ? path : `${path}:resend`, sent === 0 ? asked : {}));
      const { outcomes } = await guessing(each, (nth) =>
        (callers[nth % nodeCount] as Client).post(`${path}:verify`, { verificationCode: wrongCode(nth) }),
      );
      expect(outcomes).toEqual({ CODE_INVALID: triesOfCode, CODE_ATTEMPTS: each - triesOfCode });
    }
    for (const caller of callers) expect(reasonOf(await caller.post(`${path}:resend`))).toBe("SEND_LIMIT");
  },
);

/** The guesses that one network makes on each node in this time. */
const ofOneNetwork = (minutes: number) => nodeCount * signInFailuresPerAddressPerMinute * (1 + minutes);

test("of 2,000 guesses at codes that set a password one network tries as many as it may on each node", {
  timeout,
}, async () => {
  const { outcomes, minutes } = await guessing(guesses, (nth) =>
    nodes
      .through(nth)
      .as()
      .post(
        "/v1/password-resets:complete",
        { verificationCode: `${wrongCode(nth)}${hex()}`.slice(0, 16), newPassword: "Green-Teapot-77" },
        oneNetwork,
      ),
  );
  expect(Object.keys(outcomes).sort()).toEqual(["CODE_INVALID", "RATE_LIMIT"]);
  expect(outcomes.CODE_INVALID).toBeLessThanOrEqual(ofOneNetwork(minutes));
});

/** How often wrong passwords locked a user: each time after ten that were compared. */
const locksOf = async (userId: string) => {
  const statement = `select locks from password_attempts where user_id = '${userId}'`;
  return (await askDatabase<{ locks: number }>(nodes.databaseUrl, statement))[0]?.locks;
};

test("of 2,000 guesses at the password of one user, from as many networks, ten are compared, and then it is locked", {
  timeout,
}, async () => {
  const { userId, username, password } = await signedUp(nodes.one);
  const signIn = (nth: number, guess: string) =>
    nodes.through(nth).as().post("/v1/sessions", { loginName: username, password: guess }, networkOf(nth));
  const { outcomes } = await guessing(guesses, (nth) => signIn(nth, `Blue-Kettle-${nth}x`));
  expect(Object.keys(outcomes).sort()).toEqual(["PASSWORD_ATTEMPTS", "SIGN_IN_FAILED"]);
  expect(await locksOf(userId)).toBe(1);
  for (const nth of [guesses, guesses + 1]) expect((await signIn(nth, password)).status).not.toBe(200);
});

test("of 2,000 guesses at the passwords of as many names one network tries as many as it may on each node", {
  timeout,
}, async () => {
  const { outcomes, minutes } = await guessing(guesses, (nth) =>
    nodes
      .through(nth)
      .as()
      .post("/v1/sessions", { loginName: `nobody-${nth}`, password: "Blue-Kettle-42" }, oneNetwork),
  );
  expect(Object.keys(outcomes).sort()).toEqual(["PASSWORD_ATTEMPTS", "SIGN_IN_FAILED"]);
  expect(outcomes.SIGN_IN_FAILED).toBeLessThanOrEqual(ofOneNetwork(minutes));
});

test("of 2,000 guesses at the old password by somebody else's session ten are compared", { timeout }, async () => {
  const { client, password } = await signedUp(nodes.one);
  const callers = [client, nodes.two.as(client.token)];
  const { outcomes } = await guessing(guesses, (nth) =>
    (callers[nth % nodeCount] as Client).put("/v1/users/me/password", {
      oldPassword: `Blue-Kettle-${nth}x`,
      newPassword: "Green-Teapot-77",
    }),
  );
  expect(outcomes).toEqual({ PASSWORD_MISMATCH: triesOfPassword, PASSWORD_ATTEMPTS: guesses - triesOfPassword });
  for (const caller of callers) {
    const change = { oldPassword: password, newPassword: "Green-Teapot-77" };
    expect(reasonOf(await caller.put("/v1/users/me/password", change))).toBe("PASSWORD_ATTEMPTS");
  }
});

const hourMs = 3_600_000;

const addresses = 10_000;

test("in a month, of guesses from 10,000 addresses at one name, ten in a row are checked at most and 10,000 in all, and its user gets in all the time", {
  timeout,
}, async () => {
  await using handlers = openHandlers(nodes.one);
  const { userId, username, password } = await signedUp(nodes.one);
  const [began, { sql }] = [Date.now(), handlers.deps];
  let now = began;
  const deps = { ...handlers.deps, clock: () => new Date(now) };
  const each = [signInsOf(deps, nodes.one.config), signInsOf(deps, nodes.one.config)];
  let calls = 0;
  /** The milliseconds to wait, 0 after a wrong password that may have been checked; undefined after a right one. */
  const waitAfter = async (guess: string, browsers: readonly string[] = []): Promise<number | undefined> => {
    const nth = calls++;
    const network = `10.${nth % addresses}`;
    const call = { ...systemCall(`guess-${nth}`), values: createContextValues().set(keys.network, network) };
    const request = { loginName: username, password: guess, newPassword: undefined, browsers, call };
    try {
      await each[nth % nodeCount]?.signIn(request, callSession(nodes.one.config));
      return undefined;
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      return Number(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds ?? 0) * 1000;
    }
  };
  const browser = { userId, hash: "ab".repeat(32) };
  await sql`insert into known_browsers (hash, user_id, since, created, expiration_date)
    select decode(${browser.hash}, 'hex'), user_id, changed, changed, changed + interval '90 days'
    from passwords where user_id = ${userId}`;
  let [checked, inARow, rounds] = [0, 0, 0];
  while (now - began < 30 * 24 * hourMs) {
    const waits = await waitAfter(`Blue-Kettle-${calls}x`);
    if (waits === undefined) expect.unreachable();
    if (waits === 0) {
      checked++;
      expect(++inARow).toBeLessThanOrEqual(triesOfPassword);
      continue;
    }
    expect(waits).toBeLessThanOrEqual(hourMs);
    // Not even the right password gets anybody in elsewhere; in a browser that is known it does, after a mistake too.
    expect(await waitAfter(password)).toBeGreaterThan(0);
    if (rounds % 2 === 0) expect(await waitAfter("Red-Saucer-11", [browser.hash])).toBe(0);
    expect(await waitAfter(password, [browser.hash])).toBeUndefined();
    rounds++;
    inARow = 0;
    now += waits;
  }
  // Waits of 15 and 30 minutes, then 720 of an hour, and ten guesses before each.
  expect([rounds, checked]).toEqual([722, 7_220]);
});
