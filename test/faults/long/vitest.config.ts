import { defineConfig } from "vitest/config";
import { shared } from "../../../vitest.config.ts";
import { reportSkipped } from "../programs.ts";

// They take minutes.
export default defineConfig({
  test: { ...shared, include: ["test/faults/long/*.test.ts"], reporters: [...shared.reporters, reportSkipped("long")] },
});
