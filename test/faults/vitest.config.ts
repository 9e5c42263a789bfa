import { defineConfig } from "vitest/config";
import { shared, startingWith } from "../../vitest.config.ts";
import { reportSkipped } from "./programs.ts";

const longest = ["alerts", "scale", "plans", "rolling", "killed_upgrade", "upgrade", "outboxes", "weight"].map(
  (name) => `test/faults/${name}`,
);

// They need programs beyond npm and take minutes: they run here; those of short, which need none, run in `npm run test:thorough`.
export default defineConfig({
  test: {
    ...shared,
    // They wait most of the time, for nodes and servers to start and to end.
    maxWorkers: 4,
    sequence: { sequencer: startingWith(...longest) },
    globalSetup: [...shared.globalSetup, "test/program_setup.ts", "test/faults/postgres_versions.ts"],
    include: ["test/faults/*.test.ts"],
    reporters: [...shared.reporters, reportSkipped("short")],
  },
});
