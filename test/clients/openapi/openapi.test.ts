import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe } from "vitest";
import { startPostern } from "../../harness.ts";
import { goOutcomes } from "../go_outcomes.ts";
import { readOutcomes } from "../junit.ts";
import { promises, runsProgram, type TestOutcome } from "../program.ts";
import type { Environment } from "../stage.ts";
import { found } from "../toolchains.ts";
import { openVirtualEnvironment } from "../virtual_environment.ts";
import { openWorkshop, root, type Workshop } from "../workshop.ts";

const tried: readonly string[] = [
  "changes a password and is told of a wrong one",
  "creates an application and is told of a missing project",
  "changes a phone and is told of every wrong field",
  "adds a grant and is told of one that is there",
  "is asked for a token",
];
const without = promises.filter((promise) => !tried.includes(promise));

// Java fills in empty lists unless it is told otherwise, and a change would then empty those that it does not name.
const generators = {
  go: ["--generator-name", "go", "--output", "postern", ...properties("packageName=postern", "withGoMod=false")],
  python: ["--generator-name", "python", "--output", "generated", ...properties("packageName=postern")],
  java: [
    ...["--generator-name", "java", "--library", "native", "--output", "generated"],
    ...["--invoker-package", "postern", "--api-package", "postern.api", "--model-package", "postern.model"],
    ...properties("openApiNullable=false", "containerDefaultToNull=true"),
  ],
  typescript: [
    ...["--generator-name", "typescript-fetch", "--output", "generated"],
    ...properties("importFileExtension=.js"),
  ],
};

function properties(...list: readonly string[]): string[] {
  return ["--additional-properties", list.join(",")];
}

// The generator is Java, whatever it generates.
describe.skipIf(!found("java"))("openapi-generator", () => {
  let generator: string;
  let document: string;
  beforeAll(async () => {
    generator = await fetchGenerator();
    document = await writeDocument();
  }, 600_000);

  /** Generates a client of the served document into a copy of the program that uses it. */
  async function workshopOf(language: keyof typeof generators): Promise<Workshop> {
    const workshop = await openWorkshop(`openapi/${language}`);
    const sources = ["apiTests", "modelTests", "apiDocs", "modelDocs"].map((name) => `${name}=false`).join(",");
    const options = [...generators[language], "--global-property", sources];
    await workshop.must("java", "-jar", generator, "generate", "--input-spec", document, ...options);
    return workshop;
  }

  runsProgram("Go", { toolchain: "go", without, run: async (env) => goOutcomes(await workshopOf("go"), ".", env) });

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

  runsProgram("Java", {
    toolchain: "java",
    without,
    async run(environment) {
      const workshop = await workshopOf("java");
      const report = join(workshop.folder, "target/surefire-reports/TEST-postern.ClientTest.xml");
      return outcomesIn(report, workshop, environment, ["mvn", "--batch-mode", "--quiet", "test"]);
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

/** Maven brings the generator, of the version in the pom of the Java program. */
async function fetchGenerator(): Promise<string> {
  const { must, kept } = await openWorkshop("openapi/java");
  await must("mvn", "--batch-mode", "--quiet", "initialize", `-Dgenerator.folder=${kept}`);
  return join(kept, "generator.jar");
}

/** Writes the document that a server serves to a file. */
async function writeDocument(): Promise<string> {
  await using postern = await startPostern();
  const file = join((await openWorkshop("openapi/java")).kept, "openapi.json");
  await writeFile(file, await (await fetch(`${postern.url}/openapi.json`)).text());
  return file;
}

/** Runs a command that writes a report in JUnit's form, and reads that. */
async function outcomesIn(
  report: string,
  { run }: Workshop,
  environment: Environment,
  [command = "", ...more]: readonly string[],
): Promise<TestOutcome[]> {
  const { out, err } = await run(environment, command, ...more);
  return readOutcomes(report).catch(() => Promise.reject(new Error(out + err)));
}
