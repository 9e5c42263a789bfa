import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";
import { shared } from "../../vitest.config.ts";
import { skipped } from "./programs.ts";

const reportSkipped: Reporter = {
  onTestRunEnd() {
    for (const line of skipped()) console.log(line);
  },
};

// They need programs beyond npm and take a minute: they run here, and not in `npm test`.
export default defineConfig({
  test: { ...shared, include: ["test/faults/**/*.test.ts"], reporters: [...shared.reporters, reportSkipped] },
});
