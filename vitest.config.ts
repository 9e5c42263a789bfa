import { defineConfig } from "vitest/config";

const report = process.env.VITEST_JSON;

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/global-setup.ts"],
    // .ci/run counts from the JSON report.
    reporters: report ? ["dot", ["json", { outputFile: report }]] : ["default"],
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
  },
});
