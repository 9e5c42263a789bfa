import { test } from "vitest";
import { openNetwork } from "../network.ts";
import { endure, gentle } from "../rounds.ts";

test("a network that fails between node and database loses no acknowledged write and doubles none", {
  timeout: 900_000,
}, async () => {
  await using stage = await openNetwork();
  await endure(stage, gentle);
});
