import { afterAll, expect, test } from "vitest";
import { floors, roomOf } from "./floors.ts";
import { type Import, importsOf, openProgram } from "./tree.ts";

const isOurs = (path: string) => /^(src|packages\/gateway\/src)\//.test(path);

const program = openProgram(["src", "gen", "packages/gateway/src", "packages/gateway/bench", "bench", "console"]);
afterAll(() => program[Symbol.dispose]());
// What runs in a browser is a project of its own.
const inBrowser = openProgram(["console"], "console/tsconfig.json");
afterAll(() => inBrowser[Symbol.dispose]());
const imports = program.sources.flatMap(importsOf);
const ours = imports.filter(({ from }) => isOurs(from));

// The doors and the log carry nouns without knowing them.
const nounless = ["gateway", "events", "postgres", "security", "tracing"];
const noun = /^gen\/postern\/v1\/(?!options_|event_|details_)/;

const partOf = (path: string): string => path.replace(/^(src|packages)\//, "").replace(/(\.ts$|\/.*)/, "");

const sentenceOf = ({ from, to, name, type }: Import) => `${from} imports ${type ? "type " : ""}${name} of ${to}`;

const isOfService = (path: string) => path.startsWith("src/");
const within = ours.filter(({ from, to }) => isOfService(from) && isOfService(to));
const floorOf = (path: string) => floors.findIndex((floor) => floor.includes(roomOf(path)));

test("a part of src imports only from floors below its own, types included", () => {
  const across = within.filter(({ from, to }) => roomOf(from) !== roomOf(to));
  expect(across.length).toBeGreaterThan(1000);
  expect(across.filter(({ from, to }) => floorOf(to) <= floorOf(from)).map(sentenceOf)).toEqual([]);
});

test("every part of src stands on one floor, and no other does", () => {
  const parts = program.sources.filter(({ path }) => isOfService(path)).map(({ path }) => roomOf(path));
  expect([...new Set(parts)].sort()).toEqual(floors.flat().sort());
});

test("nothing but the command that serves imports the server", () => {
  expect(
    ours.filter(({ from, to }) => to === "src/server/server.ts" && from !== "src/program/serve.ts").map(sentenceOf),
  ).toEqual([]);
});

// The gateway is how calls arrive; what decides about them never looks at the transport.
const withoutGateway = [
  "services",
  "events",
  "postgres",
  "security",
  "notify",
  "messages",
  "tracing",
  "config",
  "transfer",
];

test("what decides about calls knows nothing of how they arrive, and the gateway knows nothing of src", () => {
  const wrong = ours.filter(
    ({ from, to }) =>
      (withoutGateway.includes(partOf(from)) && partOf(to) === "gateway") ||
      (partOf(from) === "gateway" && isOfService(to)),
  );
  expect(wrong.map(sentenceOf)).toEqual([]);
});

test("what carries the nouns knows none", () => {
  const knows = ours.filter(({ from, to }) => nounless.includes(partOf(from)) && noun.test(to));
  expect(knows.map(sentenceOf)).toEqual([]);
});

// The parts of the gateway, the upper ones first: none imports what stands above it, not even a type.
const floorsOfGateway = ["gateway.ts", "services", "rest", "rpc", "http", "codec", "errors", "header_fields.ts"];

test("a part of the gateway imports only those below it", () => {
  const floorOf = (path: string) =>
    floorsOfGateway.indexOf(path.replace("packages/gateway/src/", "").replace(/\/.*/, ""));
  const inside = ours.filter(({ from, to }) => [from, to].every((path) => path.startsWith("packages/gateway/src/")));
  expect(inside.filter(({ from, to }) => floorOf(to) === -1 || floorOf(to) < floorOf(from)).map(sentenceOf)).toEqual(
    [],
  );
  expect(inside.length).toBeGreaterThan(100);
});

test("imports make no cycle, types, benchmarks and the console included", () => {
  const next = Map.groupBy([...imports, ...inBrowser.sources.flatMap(importsOf)], ({ from }) => from);
  const done = new Set<string>();
  const cycles: string[] = [];
  const descend = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) return void cycles.push([...way.slice(way.indexOf(path)), path].join(" -> "));
    if (done.has(path)) return;
    for (const { to } of next.get(path) ?? []) descend(to, [...way, path]);
    done.add(path);
  };
  for (const { path } of [...program.sources, ...inBrowser.sources]) descend(path, []);
  expect(inBrowser.sources.length).toBeGreaterThan(100);
  expect(cycles).toEqual([]);
});

test("every file of src is reached from main", () => {
  const reached = new Set(["src/main.ts"]);
  for (const path of reached) for (const { from, to } of ours) if (from === path) reached.add(to);
  const files = program.sources.map(({ path }) => path).filter(isOurs);
  expect(files.filter((path) => !reached.has(path))).toEqual([]);
});
