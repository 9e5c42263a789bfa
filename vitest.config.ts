import { defineConfig, type ViteUserConfig } from "vitest/config";

const report = process.env.VITEST_JSON;

/** What every run shares. */
export const shared = {
  globalSetup: ["test/global-setup.ts"],
  // .ci/run counts from the JSON report.
  reporters: report ? ["dot", ["json", { outputFile: report }]] : ["default"],
  maxWorkers: 2,
  testTimeout: 90_000,
  hookTimeout: 120_000,
  // How long a poll goes on that fails; one that succeeds waits no longer than it has to.
  expect: { poll: { timeout: 60_000 } },
} satisfies ViteUserConfig["test"];

export default defineConfig({
  test: {
    ...shared,
    include: ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"],
    // They need more than npm: `npm run clients` and `npm run faults` run them.
    exclude: ["test/clients/*/**", "test/faults/**"],
  },
});
