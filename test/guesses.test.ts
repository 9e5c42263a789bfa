import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, type Client, machine, signedUp } from "./harness.ts";
import { ask as askDatabase } from "./postgres/holder.ts";
import { startTwoNodes, type TwoNodes } from "./two_nodes.ts";

// Ten thousand guesses of each kind, over two nodes with the limits that they come with.
const guesses = 10_000;
const atOnce = 64;
const [nodeCount, codeTries, sendsAnHour] = [2, 5, 10];
const [failuresOfName, failuresOfNetwork, passwordTries] = [5, 100, 10];

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await startTwoNodes({
    signInFailuresPerNamePerMinute: failuresOfName,
    signInFailuresPerAddressPerMinute: failuresOfNetwork,
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
  status === 200
    ? "OK"
    : body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
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

const proofs = {
  phone: { mode: { phone: "+41797654321" }, spent: "CODE_ATTEMPTS" },
  email: { mode: { email: "guessed@example.com" }, spent: "CODE_ATTEMPTS" },
} as const;

test.each(Object.entries(proofs))(
  "of 10,000 guesses at the code of a %s no more are tried than five for each code that may be sent",
  async (noun, { mode, spent }) => {
    const { userId, client } = await signedUp(nodes.one);
    const path = `/v1/users/${userId}/${noun}`;
    const sent = [done(await client.post(path, mode))];
    const tried = { CODE_INVALID: 0, [spent]: 0 };
    const callers = [client, nodes.two.as(client.token)];
    while (sent.length <= sendsAnHour) {
      const { outcomes } = await guessing(guesses / sendsAnHour, (nth) =>
        (callers[nth % nodeCount] as Client).post(`${path}:verify`, { verificationCode: wrongCode(nth) }),
      );
      expect(outcomes).toEqual({ CODE_INVALID: codeTries, [spent]: guesses / sendsAnHour - codeTries });
      tried.CODE_INVALID += codeTries;
      const again = await client.post(`${path}:resend`);
      if (sent.length === sendsAnHour) expect(reasonOf(again)).toBe("SEND_LIMIT");
      sent.push(again);
    }
    expect(tried.CODE_INVALID).toBe(codeTries * sendsAnHour);
  },
);

test("of 10,000 guesses at codes that set a password one network tries as many as it may on each node", async () => {
  const { outcomes, minutes } = await guessing(guesses, (nth) =>
    nodes.through(nth).as().post(
      "/v1/password-resets:complete",
      { verificationCode: `${wrongCode(nth)}${hex()}`.slice(0, 16), newPassword: "Green-Teapot-77" },
      oneNetwork,
    ),
  );
  expect(Object.keys(outcomes).sort()).toEqual(["CODE_INVALID", "RATE_LIMIT"]);
  expect(outcomes.CODE_INVALID).toBeLessThanOrEqual(nodeCount * failuresOfNetwork * (1 + minutes));
});

/** The tries of a user's password that were compared, and the locks they ended in. */
const locksOf = async (userId: string) => {
  const statement = `select locks from password_attempts where user_id = '${userId}'`;
  return (await askDatabase<{ locks: number }>(nodes.databaseUrl, statement))[0]?.locks;
};

test("of 10,000 guesses at the password of one user, from as many networks, ten are compared, and then it is locked", async () => {
  const { userId, username, password } = await signedUp(nodes.one);
  const signIn = (nth: number, guess: string) =>
    nodes.through(nth).as().post("/v1/sessions", { loginName: username, password: guess }, networkOf(nth));
  const { outcomes } = await guessing(guesses, (nth) => signIn(nth, `Blue-Kettle-${nth}x`));
  expect(Object.keys(outcomes).sort()).toEqual(["PASSWORD_ATTEMPTS", "SIGN_IN_FAILED"]);
  expect(await locksOf(userId)).toBe(1);
  for (const nth of [guesses, guesses + 1]) expect((await signIn(nth, password)).status).not.toBe(200);
  const tried = `select count(*)::int as count from events where stream = '${userId}' and type = 'user.locked'`;
  expect(await askDatabase(nodes.databaseUrl, tried)).toEqual([{ count: 1 }]);
});

test("of 10,000 guesses at the passwords of as many names one network tries as many as it may on each node", async () => {
  const { outcomes, minutes } = await guessing(guesses, (nth) =>
    nodes.through(nth).as().post("/v1/sessions", { loginName: `nobody-${nth}`, password: "Blue-Kettle-42" }, oneNetwork),
  );
  expect(Object.keys(outcomes).sort()).toEqual(["PASSWORD_ATTEMPTS", "SIGN_IN_FAILED"]);
  expect(outcomes.SIGN_IN_FAILED).toBeLessThanOrEqual(nodeCount * failuresOfNetwork * (1 + minutes));
});

test("of 10,000 guesses at the old password by somebody else's session ten are compared", async () => {
  const { client, password, userId } = await signedUp(nodes.one);
  const callers = [client, nodes.two.as(client.token)];
  const { outcomes } = await guessing(guesses, (nth) =>
    (callers[nth % nodeCount] as Client).put("/v1/users/me/password", {
      oldPassword: `Blue-Kettle-${nth}x`,
      newPassword: "Green-Teapot-77",
    }),
  );
  console.log(outcomes, await locksOf(userId));
  expect((await client.put("/v1/users/me/password", { oldPassword: password, newPassword: "Green-Teapot-77" })).status).not.toBe(200);
});

test("of 10,000 tokens that nobody has none is one, and each node looks up as many as it may", async () => {
  await machine(nodes.one);
});
