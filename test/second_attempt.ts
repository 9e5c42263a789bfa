import type { Reporter, TestCase } from "vitest/node";

/** Names, at the end of a run, the tests that failed and passed when they ran again. */
export const nameSecondAttempts: Reporter = {
  onTestRunEnd(modules) {
    for (const module of modules)
      for (const test of module.children.allTests("passed"))
        if (test.diagnostic()?.flaky) console.log(`passed at the second attempt: ${nameOf(test)}`);
  },
};

const nameOf = ({ module, fullName }: TestCase): string => `${module.relativeModuleId} > ${fullName}`;
