import { defineConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";
import { reportSkipped } from "./programs.ts";

// They need programs beyond npm and take a minute: they run here, and not in `npm test`.
export default defineConfig({
  test: { ...shared, include: ["test/faults/*.test.ts"], reporters: [...shared.reporters, reportSkipped("short")] },
});
