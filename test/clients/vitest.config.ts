import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";
import { shared } from "../../vitest.config.ts";
import { skipped } from "./toolchains.ts";

const tellSkipped: Reporter = {
  onTestRunEnd() {
    for (const line of skipped()) console.log(line);
  },
};

// A client with a folder of its own needs a toolchain beyond npm: it runs here, and in no other run.
export default defineConfig({
  test: { ...shared, include: ["test/clients/**/*.test.ts"], reporters: [...shared.reporters, tellSkipped] },
});
