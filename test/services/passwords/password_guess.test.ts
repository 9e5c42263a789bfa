import { expect, test } from "vitest";
import { systemCall } from "../../../src/deps.ts";
import { passwordHasher } from "../../../src/security/password.ts";
import type { TriedUser } from "../../../src/services/passwords/password.ts";
import { verified } from "../../../src/services/passwords/password_guess.ts";

const password = "Blue-Kettle-42";

/** A guess whose next step ends when it is told to, and whose count is cleared when that is. */
async function guessed(guess = password) {
  const passwords = passwordHasher({ concurrency: 1, queue: 10, memoryKib: 8, iterations: 1, parallelism: 1 });
  const seen: string[] = [];
  const [step, clearing] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  const user = { hash: await passwords.hash(password) } as TriedUser;
  const whenRight = () => {
    seen.push("next step");
    return step.promise;
  };
  const attempts = {
    giveBack: async () => void seen.push("given back"),
    clear: () => {
      seen.push("cleared");
      return clearing.promise;
    },
  };
  const outcome = verified({ password: guess, call: systemCall("request"), whenRight }, user, { passwords, attempts });
  outcome.then(
    () => seen.push("ended"),
    (error) => seen.push(`failed: ${error}`),
  );
  return { seen, step, clearing, outcome };
}

test("the count of a right guess is cleared while the next step runs, and both are awaited", async () => {
  const { seen, step, clearing, outcome } = await guessed();
  await expect.poll(() => seen).toContain("next step");
  expect(seen.toSorted()).toEqual(["cleared", "next step"]);
  step.resolve("value");
  await new Promise(setImmediate);
  expect(seen).not.toContain("ended");
  clearing.resolve();
  expect(await outcome).toMatchObject({ is: "right", value: "value" });
});

test("if the count cannot be cleared, the guess fails after its next step", async () => {
  const { seen, step, clearing, outcome } = await guessed();
  await expect.poll(() => seen).toContain("next step");
  clearing.reject(new Error("no database"));
  // Long enough for Node to report a rejection that nobody handles.
  await new Promise(setImmediate);
  expect(seen.toSorted()).toEqual(["cleared", "next step"]);
  step.resolve("value");
  await expect(outcome).rejects.toThrow("no database");
});

test("the count is cleared if the next step fails, and not if the guess is wrong", async () => {
  const { seen, step, clearing, outcome } = await guessed();
  await expect.poll(() => seen).toContain("next step");
  step.reject(new Error("no next step"));
  clearing.resolve();
  await expect(outcome).rejects.toThrow("no next step");
  expect(seen).toContain("cleared");
  const wrong = await guessed("Red-Kettle-42");
  expect(await wrong.outcome).toBe(undefined);
  expect(wrong.seen).toEqual(["ended"]);
});
