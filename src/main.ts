import { access, mkdir, readFile } from "node:fs/promises";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Config, readConfig } from "./config.ts";

const text = { type: "string" } as const;
const place = { url: text, "token-file": text, organization: text };
const options = { rebuild: { type: "boolean" }, user: text, from: text, ...place } as const;

type Texts = "user" | "from" | "url" | "token-file" | "organization" | "file";
type Options = Readonly<{ rebuild?: boolean | undefined } & Partial<Record<Texts, string | undefined>>>;

type Command = Readonly<{
  about: string;
  /** The file or folder that it takes, as the usage shows it; in brackets, one that may be left out. */
  file?: "FILE" | "[FOLDER]";
  /** The options that it takes, as the usage shows them. */
  options?: Partial<Record<keyof Options, string>>;
  run: (options: Options) => Promise<number>;
}>;

const placeOptions = {
  url: "--url <service>",
  "token-file": "--token-file <path>",
  organization: "--organization <id>",
};

const commands = {
  serve: { about: "start the service; the default", run: serve },
  migrate: { about: "bring the tables of the database up to date", run: migrate },
  bootstrap: { about: "create the first organization and administrator, and show how to begin", run: bootstrap },
  doctor: {
    about: "check database, migrations, fold, clock and keys",
    options: { rebuild: "--rebuild" },
    run: doctor,
  },
  health: { about: "ask the node with these settings on this machine whether it is ready", run: health },
  recover: {
    about: "make a fresh token of the first administrator, or of a user, and reactivate and unlock it",
    options: { user: "--user <id or login name>" },
    run: recover,
  },
  import: {
    about: "import users, projects, applications and grants; what is there is passed over",
    file: "FILE",
    options: { from: "--from postern|keycloak|auth0", ...placeOptions },
    run: importFrom,
  },
  export: { about: "write an organization as lines that import takes", options: placeOptions, run: exportAll },
  proto: {
    about: "write the contract with all that it imports into a folder, ./proto unless it is named",
    file: "[FOLDER]",
    run: writeProto,
  },
} satisfies Record<string, Command>;

const plainLog = {
  debug() {},
  info() {},
  warn: (_fields: object, message: string) => void process.stderr.write(`postern: ${message}\n`),
  error: (_fields: object, message: string) => void process.stderr.write(`postern: ${message}\n`),
};

// When the process fails, refusing its calls may take this long.
const lastMs = 2_000;

process.exitCode = await main(process.argv.slice(2));

async function main([given = "serve", ...args]: readonly string[]): Promise<number> {
  if (given === "--help" || given === "-h" || given === "help") return print(usage());
  if (given === "--version" || given === "-v") return print([await version()]);
  const command = commandOf(given);
  if (!command) return fail(2, `There is no command ${given}: try --help`);
  const chosen = optionsOf(command, args);
  if (!chosen) return fail(2, `${given} does not take ${JSON.stringify(args.join(" "))}: try --help`);
  return command.run(chosen).catch((error: unknown) => fail(1, sentenceOf(error)));
}

async function serve(): Promise<number> {
  const stopped = stopSignal();
  const endWith = endOnFault();
  const config = readConfig();
  await keepCompiled(config);
  const { startServer } = await import("./server.ts");
  await using server = await startServer(config);
  endWith(server.fail);
  if (server.welcome.length > 0) print(server.welcome);
  await stopped;
  return 0;
}

/** Caches compiled code in the data folder, which takes a third off the next start; without the folder nothing is cached. */
async function keepCompiled({ databaseUrl, dataDir }: Config): Promise<void> {
  // Only the embedded database is a reason to make the folder.
  const there = databaseUrl ? access(dataDir) : mkdir(dataDir, { recursive: true, mode: 0o711 });
  const compiled = () => void enableCompileCache(join(dataDir, "compiled"));
  await there.then(compiled, () => {});
}

async function migrate(): Promise<number> {
  const config = readConfig();
  const [{ openDatabase }, { migrate }] = await Promise.all([
    import("./postgres/open.ts"),
    import("./postgres/migrate.ts"),
  ]);
  await using database = await openDatabase(config, plainLog, { join: true });
  const applied = await migrate({ url: database.migrationUrl, log: plainLog });
  return print(applied.length > 0 ? applied.map((name) => `applied ${name}`) : ["the database is up to date"]);
}

async function bootstrap(): Promise<number> {
  const config = readConfig();
  return print(await (await import("./bootstrap.ts")).bootstrap(config));
}

async function doctor({ rebuild = false }: Options): Promise<number> {
  const config = readConfig();
  const { ok, lines } = await (await import("./doctor.ts")).doctor(config, { rebuild });
  print(lines);
  return ok ? 0 : 1;
}

async function health(): Promise<number> {
  const config = readConfig();
  const { ok, line } = await (await import("./health_check.ts")).checkHealth(config);
  return ok ? print([line]) : fail(1, line);
}

async function recover({ user }: Options): Promise<number> {
  const config = readConfig();
  const { token, lines } = await (await import("./recover.ts")).recover(config, user);
  process.stderr.write(`${lines.join("\n")}\n`);
  return print([token]);
}

async function importFrom({ file = "", from, ...given }: Options): Promise<number> {
  const config = readConfig();
  const { importFile } = await import("./transfer/import.ts");
  const stopping = new AbortController();
  void stopSignal().then(() => stopping.abort());
  const { ok, lines } = await importFile(config, { file, from, signal: stopping.signal, ...placeOf(given) });
  print(lines);
  return ok ? 0 : 1;
}

async function exportAll(given: Options): Promise<number> {
  const config = readConfig();
  const { exportTo } = await import("./transfer/export.ts");
  await exportTo(process.stdout, config, placeOf(given));
  return 0;
}

async function writeProto({ file = "proto" }: Options): Promise<number> {
  const { writeProtoFolder } = await import("./contract/proto_folder.ts");
  const { ok, lines } = await writeProtoFolder(file);
  return ok ? print(lines) : fail(1, lines.join("\n"));
}

function placeOf({ url, "token-file": tokenFile, organization }: Options) {
  return { url, tokenFile, organization };
}

/** The options that were given; undefined when the command does not take one of them. */
function optionsOf(command: Command, args: readonly string[]): Options | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: command.file !== undefined,
    });
    const isTaken = Object.keys(values).every((name) => Object.hasOwn(command.options ?? {}, name));
    const [file] = positionals;
    const least = command.file === "FILE" ? 1 : 0;
    if (!isTaken || positionals.length < least || positionals.length > 1) return undefined;
    return file === undefined ? values : { ...values, file };
  } catch (error) {
    if (error instanceof TypeError && "code" in error && /^ERR_PARSE_ARGS_/.test(String(error.code))) return undefined;
    throw error;
  }
}

function commandOf(given: string): Command | undefined {
  return Object.entries<Command>(commands).find(([name]) => name === given)?.[1];
}

// The first signal lets running calls finish; with the handlers gone, a second one ends the process as it always does.
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      for (const signal of ["SIGINT", "SIGTERM"]) process.removeListener(signal, stop);
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, stop);
  });
}

/**
 * Ends the process with code 1 when an error or a rejected promise reaches nobody: its state is not known any more, and a
 * supervisor starts it again. Answers how to set what is done before the end.
 */
function endOnFault(): (before: (error: unknown) => Promise<void>) => void {
  let prepare: ((error: unknown) => Promise<void>) | undefined;
  const end = () => process.exit(1);
  // Node raises an unhandled rejection as an uncaught exception.
  process.on("uncaughtException", (error: unknown) => {
    if (!prepare) {
      fail(1, sentenceOf(error));
      return end();
    }
    setTimeout(end, lastMs);
    prepare(error).then(end, end);
  });
  return (before) => {
    prepare = before;
  };
}

function usage(): string[] {
  const lines = Object.entries<Command>(commands).map(
    ([name, { about, file, options: taken = {} }]) =>
      `  ${[name, ...(file ? [file] : []), ...Object.values(taken).map((shown) => `[${shown}]`)].join(" ").padEnd(36)} ${about}`,
  );
  return [
    "usage: postern [command]",
    "",
    ...lines,
    "",
    "Settings are environment variables; docs/settings.md lists them.",
  ];
}

async function version(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

// Errors of these names are written for the operator; any other is printed with its stack.
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, syscall, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (syscall === "listen" && code === "EADDRINUSE")
    return `${address}:${port} is in use: stop what listens there, or set PORT or OPERATIONS_PORT`;
  if (syscall === "listen" || syscall === "getaddrinfo")
    return `Cannot listen (${error.message}): check HOST, PORT and OPERATIONS_PORT`;
  return error.name === "ConfigError" || error.name === "StartError" ? error.message : (error.stack ?? error.message);
}

function print(lines: readonly string[]): number {
  process.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

function fail(code: number, sentence: string): number {
  process.stderr.write(`postern: ${sentence}\n`);
  return code;
}
