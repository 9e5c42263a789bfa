import { parseArgs } from "node:util";
import { UsageError } from "../client/usage_error.ts";
import type { Command, CommandLine } from "./command.ts";

/** Parses the arguments of a command; throws a UsageError that says what is wrong. */
export function commandLine(command: Command, args: readonly string[]): CommandLine {
  const { values, positionals } = parsed(command, args);
  const { least = 0, most = 0, shown = "" } = command.takes ?? {};
  if (positionals.length < least) throw new UsageError(`${shown} is missing`);
  const extra = positionals[most];
  if (extra !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(extra)}`);
  const text = (name: string) => {
    const value = values[name];
    return typeof value === "string" ? value : undefined;
  };
  return { text, has: (name) => values[name] === true, words: positionals };
}

/** Whether the arguments before any `--` ask for the command's manual page. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).some((arg) => arg === "--help" || arg === "-h");
}

function parsed({ options = [] }: Command, args: readonly string[]) {
  const declared = options.map(({ name, short, value }) => {
    const type = value === undefined ? ("boolean" as const) : ("string" as const);
    return [name, short === undefined ? { type } : { type, short }] as const;
  });
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(declared), allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError && "code" in error && /^ERR_PARSE_ARGS_/.test(String(error.code)))) throw error;
    // Node's first sentence says it; the others explain escaping.
    throw new UsageError(error.message.split(/\.\s|\n/)[0]?.replace(/\.$/, "") ?? "");
  }
}
