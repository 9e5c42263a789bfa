import { defineConfig } from "vitest/config";
import { every, pure, shared, slowPure } from "../../vitest.config.ts";
import { longTests } from "./long.ts";

export default defineConfig({
  test: {
    ...every,
    projects: [
      { extends: true, test: { name: "sources", include: slowPure, isolate: false } },
      {
        extends: true,
        test: {
          name: "long",
          globalSetup: shared.globalSetup,
          include: [...longTests],
          exclude: [...pure, ...slowPure],
        },
      },
    ],
  },
});
