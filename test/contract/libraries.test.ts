import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { services } from "../../src/runtime/modules.ts";

/** The hand-written client of each library, and how it makes a client of a service. */
const libraries = [
  ["TypeScript", "typescript/src/client.ts", /^ {4}(\w+): createClient\((\w+), transport\)/gm],
  ["Python", "python/postern/client.py", /self\.(\w+) = \w+_pb2_grpc\.(\w+)Stub\(channel\)/g],
  ["Go", "go/client.go", /^\t\t(\w+): +posternv1\.New(\w+)Client\(conn\)/gm],
  [
    "Java",
    "java/src/main/java/com/postern/PosternClient.java",
    /BlockingStub (\w+)\(\) \{\s+return (\w+)Grpc\.newBlockingStub\(channel\)/g,
  ],
] as const;

const clientsIn = (path: string, made: RegExp) =>
  [...readFileSync(new URL(`../../sdk/${path}`, import.meta.url), "utf8").matchAll(made)].map(
    ([, name = "", service = ""]) => ({ name: name.replaceAll("_", "").toLowerCase(), service }),
  );

test.each(libraries)("the library for %s has a client of each service of the contract", (_language, path, made) => {
  const found = clientsIn(path, made).map(({ service }) => service);
  expect(found.toSorted()).toEqual(services.map(({ name }) => name).toSorted());
});

test("a service has the same name in every library", () => {
  const [first, ...others] = libraries.map(([, path, made]) =>
    clientsIn(path, made).toSorted((a, b) => a.service.localeCompare(b.service)),
  );
  for (const other of others) expect(other).toEqual(first);
});
