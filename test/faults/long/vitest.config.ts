import { defineConfig } from "vitest/config";
import { shared } from "../../../vitest.config.ts";
import { reportSkipped } from "../programs.ts";

// They take minutes each, and disturb each other; one that fails is not worth as many again.
export default defineConfig({
  test: {
    ...shared,
    retry: 0,
    fileParallelism: false,
    include: ["test/faults/long/*.test.ts"],
    reporters: [...shared.reporters, reportSkipped("long")],
  },
});
