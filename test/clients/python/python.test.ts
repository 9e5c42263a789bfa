import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readOutcomes } from "../junit.ts";
import { runsProgram, type TestOutcome } from "../program.ts";
import type { Environment } from "../stage.ts";
import { openVirtualEnvironment } from "../virtual_environment.ts";
import { openWorkshop, root, type Workshop } from "../workshop.ts";

runsProgram("grpcio", { toolchain: "python", run: outcomes });

async function outcomes(environment: Environment): Promise<TestOutcome[]> {
  const workshop = await openWorkshop("python");
  const python = await openVirtualEnvironment(workshop);
  await generate(workshop, python);
  const report = join(workshop.folder, "report.xml");
  const { out, err } = await workshop.run(environment, python, "-m", "pytest", "--junitxml", report);
  return readOutcomes(report).catch(() => Promise.reject(new Error(out + err)));
}

/** Generates code of the contract and of the rules it imports; what it imports from google comes with the requirements. */
async function generate({ must }: Workshop, python: string): Promise<void> {
  const proto = join(root, "proto");
  const files = (await readdir(join(proto, "postern/v1"))).map((file) => `postern/v1/${file}`);
  const to = ["--python_out=.", "--grpc_python_out=."];
  await must(python, "-m", "grpc_tools.protoc", "-I", proto, ...to, "buf/validate/validate.proto", ...files);
}
