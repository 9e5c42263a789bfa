import { beforeAll, describe, expect, test } from "vitest";
import { type Environment, openStage } from "./stage.ts";
import { found, type Toolchain } from "./toolchains.ts";

/** The promises to a client in any language. Its program has a test for each, named so in the manner of the language. */
export const promises = [
  "changes a password and is told of a wrong one",
  "creates an application and is told of a missing project",
  "changes a phone and is told of every wrong field",
  "adds a grant and is told of one that is there",
  "is asked for a token",
  "is refused in its own language",
  "works in the organization that it names",
  "repeats itself and gets the same answer",
  "is told by the server when its time is over",
  "sends compressed messages",
  "watches events",
  "asks for health",
  "finds services by reflection",
] as const;

type Promised = (typeof promises)[number];

/** The outcome of a test in a program: its name, and the message of a failure. */
export type TestOutcome = { readonly name: string; readonly failure?: string };

/** A client's own program. */
export type Program = {
  readonly toolchain: Toolchain;
  /** The promises that its library has no means to test. */
  readonly without?: readonly Promised[];
  readonly run: (environment: Environment) => Promise<readonly TestOutcome[]>;
};

/** Runs a program once against a server of its own; each of its tests counts here, under the name of the promise. */
export function runsProgram(client: string, { toolchain, without = [], run }: Program): void {
  const given = promises.filter((promise) => !without.includes(promise));

  describe.skipIf(!found(toolchain))(client, () => {
    let outcomes: readonly TestOutcome[] = [];
    beforeAll(async () => {
      await using stage = await openStage();
      outcomes = await run(stage.environment);
    }, 600_000);

    test.each(given)("%s", (promise) => {
      const outcome = outcomes.find(({ name }) => lettersOf(name) === lettersOf(promise));
      expect(outcome, "the program has no such test").toBeDefined();
      expect(outcome?.failure ?? "").toBe("");
    });

    test("has a test for each promise, and no other", () => {
      expect(outcomes.map(({ name }) => lettersOf(name)).sort()).toEqual(given.map(lettersOf).sort());
    });
  });
}

/** Names are alike whatever their words are joined with. */
const lettersOf = (name: string): string =>
  name
    .replace(/^test/i, "")
    .replace(/[^a-z]/gi, "")
    .toLowerCase();
