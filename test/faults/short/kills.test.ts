import { test } from "vitest";
import { openKilled } from "../kills.ts";
import { endure, gentle } from "../rounds.ts";

test("kills of the node and of its database lose no acknowledged write and double none", {
  timeout: 900_000,
}, async () => {
  await using stage = await openKilled();
  await endure(stage, gentle);
});
