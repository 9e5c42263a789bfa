import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { pureTests, slowPureTests } from "./test/pure.ts";
import { longTests } from "./test/thorough/long.ts";

const report = process.env.VITEST_JSON;

/** Settings of every run. */
export const every = {
  // .ci/run counts from the JSON report, and ten thousand dots would hide what failed.
  reporters: report ? ["minimal", ["json", { outputFile: report }]] : ["default"],
  // One more than the cores of two: a test waits for a fifth of its time.
  maxWorkers: 3,
  // Files share a process, so none may leave it changed: importing the same modules again for each took three CPU seconds.
  isolate: false,
  unstubGlobals: true,
  unstubEnvs: true,
  restoreMocks: true,
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // How long a poll goes on that fails; one that succeeds waits no longer than it has to.
  expect: { poll: { timeout: 60_000 } },
} satisfies ViteUserConfig["test"];

/** Settings of every run with a database: a real server, real sockets, and a machine that others share. */
export const shared = {
  ...every,
  globalSetup: ["test/global-setup.ts"],
} satisfies ViteUserConfig["test"];

export const pure = [...pureTests];
export const slowPure = [...slowPureTests];

/**
 * Starts some files before all others, in this order. Large files go first by themselves, but small ones may take longest, and one worker
 * would end with them alone.
 */
export const startingWith = (...first: readonly string[]) =>
  class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      const place = ({ moduleId }: TestSpecification) => {
        const at = first.findIndex((file) => moduleId.endsWith(`/${file}.test.ts`));
        return at < 0 ? first.length : at;
      };
      return sorted.toSorted((one, other) => place(one) - place(other));
    }
  };

export default defineConfig({
  test: {
    ...every,
    sequence: {
      sequencer: startingWith(
        ...["parity/parity", "services/sessions/sign_in_guesses", "guards/matrix", "errors"].map(
          (name) => `test/${name}`,
        ),
      ),
    },
    projects: [
      // Without a server.
      { extends: true, test: { name: "pure", include: pure } },
      // With servers: each file starts its own.
      {
        extends: true,
        test: {
          name: "server",
          globalSetup: shared.globalSetup,
          include: ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"],
          // What takes long is for `npm run test:thorough`; what needs more than npm, for `npm run clients` and `npm run faults`.
          exclude: [
            ...pure,
            ...slowPure,
            ...longTests,
            "test/clients/*/**",
            "test/faults/*.test.ts",
            "test/faults/long/**",
          ],
        },
      },
    ],
  },
});
