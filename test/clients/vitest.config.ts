import { defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";
import { shared, startingWith } from "../../vitest.config.ts";
import { skipped } from "./toolchains.ts";

const tellSkipped: Reporter = {
  onTestRunEnd() {
    for (const line of skipped()) console.log(line);
  },
};

// The specifications that the clients rely on: which tests show each requirement.
const requirements = "test/conformance/requirements.test.ts";

const tellRequirements: Reporter = {
  onTestRunEnd(modules) {
    for (const { moduleId, children } of modules)
      if (moduleId.endsWith(`/${requirements}`))
        for (const test of children.allTests()) console.log(`${test.result().state}: ${test.name}`);
  },
};

const longest = [
  "browser/console_scenes",
  "browser/console_roles",
  "sdk/sdk",
  "browser/sign_in_pages",
  "browser/console_pages",
  "generate/generate",
  "oidc/compiled",
  "go/compiled",
  "openapi/lint",
  "openapi/openapi",
  "npm/archive",
  "shell/buf",
  "browser/browser",
].map((name) => `test/clients/${name}`);

// A client with a folder of its own needs a toolchain beyond npm: it runs here, and in no other run.
export default defineConfig({
  test: {
    ...shared,
    // They wait a third of the time, for browsers and for what npm installs.
    maxWorkers: 4,
    sequence: { sequencer: startingWith(...longest) },
    include: ["test/clients/**/*.test.ts", requirements],
    reporters: [...shared.reporters, tellRequirements, tellSkipped],
  },
});
