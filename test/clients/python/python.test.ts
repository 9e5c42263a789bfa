import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readOutcomes } from "../junit.ts";
import { runsProgram, type TestOutcome } from "../program.ts";
import type { Environment } from "../stage.ts";
import { openWorkshop, root, type Workshop } from "../workshop.ts";

runsProgram("grpcio", { toolchain: "python", run: outcomes });

async function outcomes(environment: Environment): Promise<TestOutcome[]> {
  const workshop = await openWorkshop("python");
  const python = await interpreter(workshop);
  await generate(workshop, python);
  const report = join(workshop.folder, "report.xml");
  const { out, err } = await workshop.run(environment, python, "-m", "pytest", "--junitxml", report);
  return readOutcomes(report).catch(() => Promise.reject(new Error(out + err)));
}

/** The Python of an environment with what requirements.txt lists, made once for each list. */
async function interpreter({ folder, kept, must }: Workshop): Promise<string> {
  const requirements = join(folder, "requirements.txt");
  const installed = join(kept, "installed.txt");
  const python = join(kept, "venv/bin/python");
  const wanted = await readFile(requirements, "utf8");
  if ((await readFile(installed, "utf8").catch(() => "")) === wanted) return python;
  await rm(kept, { recursive: true, force: true });
  await must("python3", "-m", "venv", join(kept, "venv"));
  await must(python, "-m", "pip", "install", "--quiet", "--requirement", requirements);
  await writeFile(installed, wanted);
  return python;
}

/** Generates code of the contract and of the rules it imports; what it imports from google comes with the requirements. */
async function generate({ must }: Workshop, python: string): Promise<void> {
  const proto = join(root, "proto");
  const files = (await readdir(join(proto, "postern/v1"))).map((file) => `postern/v1/${file}`);
  const to = ["--python_out=.", "--grpc_python_out=."];
  await must(python, "-m", "grpc_tools.protoc", "-I", proto, ...to, "buf/validate/validate.proto", ...files);
}
