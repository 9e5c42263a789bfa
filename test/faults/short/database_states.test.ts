import { test } from "vitest";
import { openRefusing } from "../database_states.ts";
import { endure, gentle } from "../rounds.ts";

test("a database that refuses its node for a while loses no acknowledged write and doubles none", {
  timeout: 900_000,
}, async () => {
  await using stage = await openRefusing();
  await endure(stage, gentle);
});
