import { defineConfig } from "vitest/config";
import { shared } from "../../../vitest.config.ts";
import { reportSkipped } from "../programs.ts";

// They take minutes each, and disturb each other.
export default defineConfig({
  test: {
    ...shared,
    fileParallelism: false,
    globalSetup: [...shared.globalSetup, "test/program_setup.ts", "test/faults/postgres_versions.ts"],
    include: ["test/faults/long/*.test.ts"],
    reporters: [...shared.reporters, reportSkipped("long")],
  },
});
