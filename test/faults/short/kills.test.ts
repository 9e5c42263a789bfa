import { test } from "vitest";
import { killUnderWriters } from "../kills.ts";

test("kills of the node and of its database lose no acknowledged write and double none", async () => {
  await killUnderWriters({ rounds: 2, projects: 5_000 });
});
