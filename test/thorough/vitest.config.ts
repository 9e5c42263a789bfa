import { defineConfig } from "vitest/config";
import { every, pure, shared, slowPure, startingWith } from "../../vitest.config.ts";
import { longTests } from "./long.ts";

const longest = [
  "test/parity/every_door",
  "test/events/workload",
  ...["network", "kills", "database_states"].map((fault) => `test/faults/short/${fault}`),
  "test/server/first_start",
  "test/provider/tokens/rotation_under_load",
];

export default defineConfig({
  test: {
    ...every,
    // They wait more than the others: for nodes to start, for limits to pass, for databases that are stopped.
    maxWorkers: 4,
    sequence: { sequencer: startingWith(...longest) },
    projects: [
      { extends: true, test: { name: "sources", include: slowPure } },
      {
        extends: true,
        test: {
          name: "long",
          globalSetup: [...shared.globalSetup, "test/program_setup.ts"],
          include: [...longTests],
          exclude: [...pure, ...slowPure],
        },
      },
    ],
  },
});
