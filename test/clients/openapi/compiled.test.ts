import { join } from "node:path";
import { beforeAll, describe } from "vitest";
import { goOutcomes } from "../go_outcomes.ts";
import { runsProgram } from "../program.ts";
import { found } from "../toolchains.ts";
import { generating, outcomesIn, without } from "./generated.ts";

// The generator is Java, whatever it generates.
describe.skipIf(!found("java"))("openapi-generator", () => {
  let workshopOf: Awaited<ReturnType<typeof generating>>;
  beforeAll(async () => {
    workshopOf = await generating("compiled");
  }, 600_000);

  runsProgram("Go", { toolchain: "go", without, run: async (env) => goOutcomes(await workshopOf("go"), ".", env) });

  runsProgram("Java", {
    toolchain: "java",
    without,
    async run(environment) {
      const workshop = await workshopOf("java");
      const report = join(workshop.folder, "target/surefire-reports/TEST-postern.ClientTest.xml");
      return outcomesIn(report, workshop, environment, ["mvn", "--batch-mode", "--quiet", "test"]);
    },
  });
});
