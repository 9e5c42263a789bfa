import { UsageError } from "./client/usage_error.ts";
import { type Command, type Commands, exitCodes } from "./program/command.ts";
import { asksForHelp, commandLine } from "./program/command_line.ts";
import { commands } from "./program/commands.ts";
import { commandPage, programPage } from "./program/manual.ts";
import { fail, print, sentenceOf } from "./program/output.ts";
import { worker } from "./program/serve.ts";

const help: Command = {
  about: "show this page, or the page of a command",
  takes: { least: 0, most: 1, shown: "[COMMAND]" },
  async run({ words: [name] }) {
    return print(name === undefined ? programPage(shown) : commandPage(name, named(name)));
  },
};

const shown: Commands = { ...commands, help };
const all: Commands = { ...shown, worker };

const spellings: Readonly<Record<string, string>> = {
  "--help": "help",
  "-h": "help",
  "--version": "version",
  "-v": "version",
};

process.exitCode = await main(process.argv.slice(2));

async function main([first = "serve", ...args]: readonly string[]): Promise<number> {
  const name = spellings[first] ?? first;
  try {
    const command = named(name);
    if (asksForHelp(args)) return print(commandPage(name, command));
    return await command.run(commandLine(command, args));
  } catch (error) {
    if (!(error instanceof UsageError)) return fail(exitCodes.failed, sentenceOf(error));
    return fail(exitCodes.usage, `${error.message}: try postern help${Object.hasOwn(all, name) ? ` ${name}` : ""}`);
  }
}

function named(name: string): Command {
  const command = Object.hasOwn(all, name) ? all[name] : undefined;
  if (command) return command;
  throw new UsageError(`There is no command ${name}`);
}
