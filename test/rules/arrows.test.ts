import { afterAll, expect, test } from "vitest";
import { type Import, importsOf, openProgram } from "./tree.ts";

const isOurs = (path: string) => path.startsWith("src/") || path.startsWith("packages/");

const isBenchmark = (path: string) => /^(packages\/gateway\/)?bench\//.test(path);

const program = openProgram(["src", "gen", "packages/gateway/src", "packages/gateway/bench", "bench"]);
afterAll(() => program[Symbol.dispose]());
const benchmarks = program.sources.filter(({ path }) => isBenchmark(path));
const product = program.sources.filter(({ path }) => !isBenchmark(path));
const imports = product.flatMap(importsOf);
const ours = imports.filter(({ from }) => isOurs(from));

const layers = [
  "gen",
  "config",
  "contract",
  "metrics",
  "routes",
  "deps",
  "errors",
  "guards",
  "gateway",
  "events",
  "postgres",
  "security",
  "notify",
  "tracing",
];
const everything = [
  ...layers,
  ...["services", "provider", "messages", "runtime", "bootstrap", "how_to_begin", "admin_files", "operations"],
  ...["data_folder", "local_address", "log_format", "logger", "preflight", "welcome"],
];

// A part may import what is listed: another part, one file of it, or one type of that file.
const arrows: Readonly<Record<string, readonly string[]>> = {
  main: ["program", "client/usage_error"],
  program: [
    ...["config", "data_folder", "log_format", "server", "bootstrap", "doctor", "health_check", "recover", "transfer"],
    "rotate_signing_keys",
    ...["contract/proto_folder", "package_folder", "postgres/open", "postgres/migrate", "client", "workers"],
  ],
  preflight: ["config#Config", "data_folder", "setting"],
  welcome: everything,
  data_folder: ["setting"],
  local_address: ["config#Config"],
  log_format: ["config#Config"],
  logger: ["config#Config", "log_format"],
  // The parent of workers serves nothing, so it loads nothing of the service.
  workers: [
    ...["config#Config", "gateway#", "logger", "metrics/merge", "postgres/embedded", "preflight"],
    "security/failure_rate",
  ],
  // It runs every ten seconds beside the service, so it loads nothing else.
  health_check: ["config#Config", "local_address"],
  // It calls the service over the wire, as any other client.
  client: ["gen", "gateway", "config#Config", "setting", "local_address", "admin_files"],
  transfer: ["gen", "config", "setting", "local_address", "admin_files", "client", "security"],
  server: [
    "gateway",
    "config",
    "runtime",
    "bootstrap",
    "how_to_begin",
    "admin_files",
    "ports",
    "preflight",
    "welcome",
    "errands",
    "logger",
    "security/priority",
    "tracing/tracing",
    "workers/parent#Parent",
    "workers/shared_failures",
  ],
  ports: [
    "gateway",
    "config#Config",
    "contract",
    "deps",
    "errors",
    "guards/capacity",
    "guards/rate_limits",
    "guards/report#Report",
    "guarded_services",
    "observability",
    "operations",
    "provider",
    "routes",
    "runtime#Runtime",
  ],
  observability: [
    "gateway",
    "contract",
    "deps",
    "events/follow",
    "guards/report",
    "messages/catalogue",
    "metrics",
    "notify",
    "routes",
    "runtime#Runtime",
    "tracing/tracing#Tracing",
    "workers/message#",
    "workers/parent#Parent",
  ],
  guarded_services: [
    "gen",
    "gateway",
    "config#Config",
    "deps",
    "errors",
    "guards",
    "cached_lookups",
    "messages/catalogue",
    "postgres/failure",
    "provider/issuer",
    "provider/own_api",
    "routes",
    "runtime#Runtime",
    "services",
  ],
  cached_lookups: ["guards", "runtime#Runtime", "services/caller_lookups", "services/fresh_sign_in"],
  idle_memory: [],
  // The OpenID Provider: sign-in at applications, over HTTP alone.
  provider: [
    ...["gen", "gateway", "deps", "errors", "events", "messages", "security", "services"],
    ...["postgres/connect#Sql", "postgres/failure", "guards/permissions"],
    // No guard stands before a page, and pages lose the races that calls lose.
    "guards/retry",
  ],
  errands: ["config", "events/sweep", "idle_memory", "notify", "provider", "runtime#Runtime", "services"],
  bootstrap: everything,
  operations: ["gateway", "config#Config", "deps", "errors", "guards/report#Report", "routes"],
  admin_files: everything,
  how_to_begin: everything,
  doctor: everything,
  recover: everything,
  rotate_signing_keys: everything,
  // It runs every ten seconds beside the service, so it loads nothing else.
  runtime: everything,
  routes: ["gen", "gateway", "services", "config#Config", "deps#Deps", "events/follow#Tail"],
  contract: ["gen", "gateway", "errors", "package_folder"],
  package_folder: [],
  metrics: ["gateway"],
  services: [
    "gen",
    "events",
    "security",
    "errors",
    "deps",
    "messages",
    "postgres/connect#Sql",
    "guards/permissions#Role",
    "numbering",
  ],
  guards: ["gen", "gateway", "security", "errors", "deps", "events/fact#FactType"],
  gateway: [],
  events: ["gen", "errors", "postgres/connect#Sql", "postgres/failure"],
  notify: ["gen", "events", "security", "errors", "deps", "messages", "postgres/connect#Sql"],
  tracing: ["gen"],
  deps: ["errors#Violation", "events#", "security#", "postgres#", "messages#"],
  errors: ["gen", "gateway", "messages"],
  postgres: ["errors"],
  config: ["setting", "setting_names", "sign_in_settings", "data_folder", "private_ranges"],
  sign_in_settings: ["setting"],
  setting: ["postgres/servers", "numbering"],
  numbering: [],
  setting_names: [],
  private_ranges: [],
  security: [],
  messages: [],
};

// The doors and the log carry nouns without knowing them.
const nounless = ["gateway", "events", "postgres", "security", "tracing"];
const noun = /^gen\/postern\/v1\/(?!options_|event_|details_)/;

const partOf = (path: string): string => path.replace(/^(src|packages)\//, "").replace(/(\.ts$|\/.*)/, "");

const sentenceOf = ({ from, to, name, type }: Import) => `${from} imports ${type ? "type " : ""}${name} of ${to}`;

function isAllowed({ from, to, name, type }: Import): boolean {
  const file = to.replace(/^src\//, "").replace(/\.ts$/, "");
  return (arrows[partOf(from)] ?? []).some((arrow) => {
    const [place = "", only] = arrow.split("#");
    if (place !== file && place !== partOf(to)) return false;
    return only === undefined || (type && (only === "" || only === name));
  });
}

test("every import follows an arrow of the table", () => {
  const across = ours.filter(({ from, to }) => partOf(from) !== partOf(to));
  expect(across.length).toBeGreaterThan(100);
  expect(across.filter((one) => !isAllowed(one)).map(sentenceOf)).toEqual([]);
});

test("every part of src is in the table, and the table names no other", () => {
  const parts = product.filter(({ path }) => isOurs(path)).map(({ path }) => partOf(path));
  expect([...new Set(parts)].sort()).toEqual(Object.keys(arrows).sort());
});

test("nothing but the command that serves imports the server", () => {
  expect(
    ours.filter(({ from, to }) => to === "src/server.ts" && from !== "src/program/serve.ts").map(sentenceOf),
  ).toEqual([]);
});

test("what carries the nouns knows none", () => {
  const knows = ours.filter(({ from, to }) => nounless.includes(partOf(from)) && noun.test(to));
  expect(knows.map(sentenceOf)).toEqual([]);
});

// The parts of the gateway, the upper ones first: none imports what stands above it, not even a type.
const floors = ["gateway.ts", "services", "rest", "rpc", "http", "codec", "errors", "header_fields.ts"];

test("a part of the gateway imports only those below it", () => {
  const floorOf = (path: string) => floors.indexOf(path.replace("packages/gateway/src/", "").replace(/\/.*/, ""));
  const within = ours.filter(({ from, to }) => [from, to].every((path) => path.startsWith("packages/gateway/src/")));
  expect(within.filter(({ from, to }) => floorOf(to) === -1 || floorOf(to) < floorOf(from)).map(sentenceOf)).toEqual(
    [],
  );
  expect(within.length).toBeGreaterThan(100);
});

test("imports make no cycle, types and benchmarks included", () => {
  const next = Map.groupBy([...imports, ...benchmarks.flatMap(importsOf)], ({ from }) => from);
  const done = new Set<string>();
  const cycles: string[] = [];
  const descend = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) return void cycles.push([...way.slice(way.indexOf(path)), path].join(" -> "));
    if (done.has(path)) return;
    for (const { to } of next.get(path) ?? []) descend(to, [...way, path]);
    done.add(path);
  };
  for (const { path } of program.sources) descend(path, []);
  expect(cycles).toEqual([]);
});

test("every file of src is reached from main", () => {
  const reached = new Set(["src/main.ts"]);
  for (const path of reached) for (const { from, to } of ours) if (from === path) reached.add(to);
  const files = product.map(({ path }) => path).filter(isOurs);
  expect(files.filter((path) => !reached.has(path))).toEqual([]);
});
