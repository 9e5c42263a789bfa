import { join } from "node:path";
import { beforeAll, describe } from "vitest";
import { runsProgram } from "../program.ts";
import { found } from "../toolchains.ts";
import { openVirtualEnvironment } from "../virtual_environment.ts";
import { root } from "../workshop.ts";
import { generating, outcomesIn, without } from "./generated.ts";

// The generator is Java, whatever it generates.
describe.skipIf(!found("java"))("openapi-generator", () => {
  let workshopOf: Awaited<ReturnType<typeof generating>>;
  beforeAll(async () => {
    workshopOf = await generating("scripted");
  }, 600_000);

  runsProgram("Python", {
    toolchain: "python",
    without,
    async run(environment) {
      const workshop = await workshopOf("python");
      const python = await openVirtualEnvironment(workshop);
      const report = join(workshop.folder, "report.xml");
      const options = ["-o", `pythonpath=${join(workshop.folder, "generated")}`, "--junitxml", report];
      return outcomesIn(report, workshop, environment, [python, "-m", "pytest", ...options, "test_client.py"]);
    },
  });

  runsProgram("TypeScript", {
    toolchain: "java",
    without,
    async run(environment) {
      const workshop = await workshopOf("typescript");
      await workshop.must(join(root, "node_modules/.bin/tsc"), "--project", ".");
      const report = join(workshop.folder, "report.xml");
      const options = ["--test-reporter", "junit", "--test-reporter-destination", report];
      return outcomesIn(report, workshop, environment, [process.execPath, ...options, "out/client.test.mjs"]);
    },
  });
});
