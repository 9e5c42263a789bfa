import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { type Answer, type Client, signedUp } from "../harness.ts";
import { ask as askDatabase } from "../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";
import { guessForDays } from "./days_of_guesses.ts";

const [guesses, atOnce] = [500, 64];
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
  "of 500 guesses at the codes of $noun no more are tried than five for each code that may be sent",
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

test("of 500 guesses at codes that set a password one network tries as many as it may on each node", {
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

test("of 500 guesses at the password of one user, from as many networks, ten are compared, and then it is locked", {
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

test("of 500 guesses at the passwords of as many names one network tries as many as it may on each node", {
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

test("of 500 guesses at the old password by somebody else's session ten are compared", { timeout }, async () => {
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

test("in a week, of guesses from 10,000 addresses at one name, ten in a row are checked at most and 1,700 in all, and its user gets in all the time", {
  timeout,
}, async () => {
  // Waits of 15 and 30 minutes, then 168 of an hour, and ten guesses before each.
  expect(await guessForDays(nodes, 7)).toEqual({ rounds: 170, checked: 1_700 });
});
