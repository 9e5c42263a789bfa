import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { readOutcomes } from "../junit.ts";
import { runsProgram, type TestOutcome } from "../program.ts";
import type { Environment } from "../stage.ts";
import { openWorkshop, type Workshop } from "../workshop.ts";

runsProgram("grpc-java", { toolchain: "java", run: outcomes });

async function outcomes(environment: Environment): Promise<TestOutcome[]> {
  const workshop = await openWorkshop("java");
  await fetchGenerators(workshop);
  await workshop.generate();
  const { out, err } = await workshop.run(environment, "mvn", "--batch-mode", "--quiet", "test");
  const report = join(workshop.folder, "target/surefire-reports/TEST-postern.ClientTest.xml");
  return readOutcomes(report).catch(() => Promise.reject(new Error(out + err)));
}

/** Maven brings the generators as files that nobody may execute. */
async function fetchGenerators({ folder, must }: Workshop): Promise<void> {
  await must("mvn", "--batch-mode", "--quiet", "initialize");
  for (const name of ["protoc", "protoc-gen-grpc-java"]) await chmod(join(folder, "target/generators", name), 0o755);
}
