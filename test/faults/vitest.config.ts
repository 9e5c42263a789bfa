import { defineConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";
import { reportSkipped } from "./programs.ts";

// They need programs beyond npm and take minutes: they run here; those of short, which need none, run in `npm run test:thorough`.
export default defineConfig({
  test: {
    ...shared,
    globalSetup: [...shared.globalSetup, "test/faults/postgres_versions.ts"],
    include: ["test/faults/*.test.ts"],
    reporters: [...shared.reporters, reportSkipped("short")],
  },
});
