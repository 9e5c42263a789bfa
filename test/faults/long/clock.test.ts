import { test } from "vitest";
import { openClock } from "../clock.ts";
import { found } from "../programs.ts";
import { endure, long } from "../rounds.ts";

test.skipIf(!found("faketime"))(
  "sixty jumps of a clock lose no acknowledged write",
  { timeout: 7_200_000 },
  async () => {
    await using stage = await openClock();
    await endure(stage, long);
  },
);
