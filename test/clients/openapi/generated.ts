import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startPostern } from "../../harness.ts";
import { readOutcomes } from "../junit.ts";
import { promises, type TestOutcome } from "../program.ts";
import type { Environment } from "../stage.ts";
import { openWorkshop, root, type Workshop } from "../workshop.ts";

const tried: readonly string[] = [
  "changes a password and is told of a wrong one",
  "creates an application and is told of a missing project",
  "changes a phone and is told of every wrong field",
  "adds a grant and is told of one that is there",
  "is asked for a token",
];
/** What the generated clients do not try. */
export const without = promises.filter((promise) => !tried.includes(promise));

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

/**
 * Makes the function that generates a client of the served document into a copy of the program that uses it. Two files that run at once
 * have the generator in places of their own.
 */
export async function generating(place: string): Promise<(language: keyof typeof generators) => Promise<Workshop>> {
  const { must, kept } = await openWorkshop(`openapi/${place}`, join(root, "test/clients/openapi/java"));
  // Maven brings the generator, of the version in the pom of the Java program.
  await must("mvn", "--batch-mode", "--quiet", "initialize", `-Dgenerator.folder=${kept}`);
  const [generator, document] = [join(kept, "generator.jar"), await writeDocument(kept)];
  const sources = ["apiTests", "modelTests", "apiDocs", "modelDocs"].map((name) => `${name}=false`).join(",");
  return async (language) => {
    const workshop = await openWorkshop(`openapi/${language}`);
    const options = [...generators[language], "--global-property", sources];
    await workshop.must("java", "-jar", generator, "generate", "--input-spec", document, ...options);
    return workshop;
  };
}

/** Writes the document that a server serves to a file. */
async function writeDocument(folder: string): Promise<string> {
  await using postern = await startPostern();
  const file = join(folder, "openapi.json");
  await writeFile(file, await (await fetch(`${postern.url}/openapi.json`)).text());
  return file;
}

/** Runs a command that writes a report in JUnit's form, and reads that. */
export async function outcomesIn(
  report: string,
  { run }: Workshop,
  environment: Environment,
  [command = "", ...more]: readonly string[],
): Promise<TestOutcome[]> {
  const { out, err } = await run(environment, command, ...more);
  return readOutcomes(report).catch(() => Promise.reject(new Error(out + err)));
}
