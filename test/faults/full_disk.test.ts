import { test } from "vitest";
import { openFull } from "./full_disk.ts";
import { found } from "./programs.ts";
import { endure, short } from "./rounds.ts";

test.skipIf(!found("mount"))(
  "a full disk loses no acknowledged write and doubles none",
  { timeout: 900_000 },
  async () => {
    await using stage = await openFull();
    await endure(stage, short);
  },
);
