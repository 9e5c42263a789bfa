import type { TestOutcome } from "./program.ts";
import type { Environment } from "./stage.ts";
import type { Workshop } from "./workshop.ts";

type Event = { readonly Action: string; readonly Test?: string; readonly Output?: string };

/** Runs the tests of a Go package. */
export async function goOutcomes({ run }: Workshop, folder: string, environment: Environment): Promise<TestOutcome[]> {
  const { out, err } = await run(environment, "go", "test", "-count=1", "-timeout=2m", "-json", folder);
  const events: Event[] = out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const ends = events.filter(({ Test, Action }) => Test && ["pass", "fail", "skip"].includes(Action));
  if (ends.length === 0) throw new Error(out + err);
  return ends.map(({ Test: name = "", Action }) => {
    const lines = events.filter(({ Test }) => Test === name).map(({ Output = "" }) => Output);
    return Action === "pass" ? { name } : { name, failure: lines.join("") };
  });
}
